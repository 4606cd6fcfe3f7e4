import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

/** Returns the configuration file: `--config`, else `$KUBEHERALD_CONFIG`, else `kubeherald.yaml` here; undefined without any. */
export function findConfig(option: string | undefined, env: NodeJS.ProcessEnv): string | undefined {
  const named = option ?? env['KUBEHERALD_CONFIG']
  if (named) return named
  return existsSync(resolve('kubeherald.yaml')) ? 'kubeherald.yaml' : undefined
}

/** The configuration that runs without a file: it shows what happens in a cluster, and is a start for a file of your own. */
export const STARTER = `# The built-in starter configuration. Save it as kubeherald.yaml and make it yours.
watch: [Event, Pod, Deployment, StatefulSet, DaemonSet, Job, Node, Namespace, Service, ConfigMap]
sinks:
  screen: { type: stdout }
include:
  - { from: kubeherald:crash-loops, to: screen }       # rules that come with kubeherald
rules:
  - name: noise
    when: { kind: ConfigMap, name: [kube-root-ca.crt, "*leader*"] }
    drop: true
  - name: warnings
    when: { kind: Event, type: Warning }
    throttle: { per: [regarding, reason], every: 1m }  # the next notification has the number of suppressed events
    to: screen
  - name: events
    when: { kind: Event, type: [ADDED, MODIFIED] }
    to: screen
  - name: new-image
    when: { kind: [Deployment, StatefulSet, DaemonSet] }
    changed: [spec.template.spec.containers.*.image]
    severity: warning
    to: screen
  - name: scaled-up
    when: { kind: [Deployment, StatefulSet], type: MODIFIED }
    if: oldObject != null && object.spec.replicas > oldObject.spec.replicas
    to: screen
  - name: comes-and-goes
    when: { kind: "!Event", type: [ADDED, DELETED] }
    to: screen
  - name: changes
    when: { kind: [Deployment, StatefulSet, DaemonSet, Job, Service, ConfigMap, Namespace] }
    to: screen
`

/**
 * The starter for the demo cluster, which has a custom resource too. For its page it keeps a journal, and has a chat and a pager at the
 * address of `receivers`.
 */
export function demoStarter(receivers: string): string {
  return STARTER.replace('ConfigMap]\n', 'ConfigMap, databases.stable.example.com]\njournal: { keep: 1h }\n')
    .replace('ConfigMap, Namespace]', 'ConfigMap, Namespace, Database]')
    .replace(
      '  screen: { type: stdout }\n',
      `$&  chat: { type: mattermost, url: "${receivers}/chat" }\n  pager: { type: webhook, url: "${receivers}/pager" }\n`,
    )
    .replace('to: screen }', 'to: [screen, chat, pager] }')
    .replaceAll(
      /(?<=name: (?:warnings|new-image|scaled-up)\n(?: {4}.*\n)+? {4}to: )screen/g,
      '[screen, chat]',
    )
}
