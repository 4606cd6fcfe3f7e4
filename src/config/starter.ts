/** What runs when there is no configuration: enough to see what happens in a cluster, and to begin one's own file with. */
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
    throttle: { per: [regarding, reason], every: 1m }  # what is held back is counted, and told
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

/** The starter for the demo cluster, which has a custom resource too. */
export const DEMO_STARTER = STARTER.replace(
  'ConfigMap]\n',
  'ConfigMap, databases.stable.example.com]\n',
).replace('ConfigMap, Namespace]', 'ConfigMap, Namespace, Database]')
