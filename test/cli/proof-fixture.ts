import { type Desk, openDesk } from './cli.ts'

/** The rules of the README, more or less, with secrets that are not here. */
export const RULES = `cluster: prod-eu
redis: { url: "\${env:REDIS_URL_OF_A_POD}" }
watch:
  - Event
  - kind: Deployment
    namespaces: [shop, pay-*]
  - Node
sinks:
  oncall: { type: slack, token: "\${file:/run/secrets/slack-token}", channel: "#oncall" }
  pager: { type: webhook, preset: pagerduty, routingKey: "\${env:PAGERDUTY_KEY_OF_A_POD}" }
  bus: { type: kafka, brokers: ["\${env:BROKER_OF_A_POD}"], topic: "k8s.{{ kind | downcase }}" }
  audit: { type: webhook, url: "\${env:AUDIT_URL_OF_A_POD}", secret: "\${env:AUDIT_SECRET_OF_A_POD}" }
rules:
  - name: noise
    when: { kind: Event, namespace: kube-system, type: Normal }
    drop: true
  - name: crash-loops
    when: { kind: Event, type: Warning, reason: [BackOff, OOMKilling], regarding: { kind: Pod, namespace: shop } }
    throttle: { per: regarding, every: 10m }
    to: [oncall, pager, bus]
  - name: failed
    when: { kind: Event, reason: Failed }
    group: { wait: 30s }
    to: oncall
  - name: rollouts
    when: { kind: Deployment, type: [MODIFIED, DELETED], labels: "team, tier notin (test)" }
    to: [oncall, audit]
  - name: broken-nodes
    when: { kind: Node, labels: broken }
    for: 2m
    resolve: true
    to: oncall
  - name: all-events
    when: { kind: Event }
    to: bus
`

export const BACK_OFF = `kind: Event
type: Warning
reason: BackOff
count: 3
lastTimestamp: 2026-11-21T09:14:07Z
message: Back-off restarting failed container app in pod web-1
regarding: { kind: Pod, namespace: shop, name: web-1 }
`

/** A desk with rules and an object; `more` are files beside them. */
export function openProofDesk(more: Readonly<Record<string, string>> = {}): Desk {
  const desk = openDesk()
  for (const [name, text] of Object.entries({ 'kubeherald.yaml': RULES, 'backoff.yaml': BACK_OFF, ...more }))
    desk.write(name, text)
  return desk
}
