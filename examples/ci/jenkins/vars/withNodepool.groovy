// Copyright: (c) 2026, The stackci.nodepool contributors
// GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A step of a shared library: lease nodes, run the body with them, and release them whatever happens.
 *
 *   withNodepool(labels: ['debian-12', 'debian-12'], expires: 3600) { lease ->
 *     sh "nodepoolctl ssh ${lease.name} uname -a"
 *     echo lease.nodes[0].address
 *   }
 *
 * Options: labels (needed; one or a list), name (a new one for each call), expires (7200) and timeout (900), both in seconds.
 * Two calls with one name share their nodes.
 */
def call(Map options, Closure body) {
    // A text has characters where a list has labels, also one that Groovy makes with a variable in it.
    def wanted = options.labels instanceof CharSequence ? [options.labels] : options.labels
    if (!wanted) {
        error("withNodepool needs labels, such as labels: ['debian-12']")
    }
    String name = options.name ?: leaseName("${env.BUILD_TAG}")
    int expires = (options.expires ?: 7200) as int
    int timeout = (options.timeout ?: 900) as int
    String labels = wanted.collect { label -> quoted(label as String) }.join(' ')
    try {
        String answer = sh(
            label: "Lease ${wanted.join(', ')}",
            returnStdout: true,
            script: "nodepoolctl lease -o json --expires ${expires} --timeout ${timeout} -- ${quoted(name)} ${labels}"
        )
        return body([name: name, nodes: readJSON(text: answer).nodes])
    } finally {
        sh(label: 'Release the nodes', script: "nodepoolctl release -- ${quoted(name)}")
    }
}

// The tag is for people to read: a build may lease several times at once, and the tags of long or odd names may be the same.
private String leaseName(String tag) {
    return 'jenkins-' + tag.replaceAll('[^A-Za-z0-9._@:+=-]', '-').take(80) + '-' + UUID.randomUUID()
}

private String quoted(String word) {
    return "'" + word.replace("'", "'\\''") + "'"
}
