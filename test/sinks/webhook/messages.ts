import type { Content, Markup, Message, Summary } from '../../../src/sink/index.ts'
import { contentOfSummary } from '../../render/content-of-summary.ts'
import { type MessageParts, messageOf } from '../bed.ts'

/** A message with these words, in this markup: independent of how words are found. */
export function told(
  words: Partial<Summary>,
  markup: Markup,
  parts: MessageParts = {},
  content: Partial<Content> = {},
): Message {
  const { id, rule, event, route, object, objectJson, attempt, cloudEvent } = messageOf(parts)
  const all: Summary = {
    severity: 'info',
    title: 'ConfigMap default/web changed',
    text: '',
    about: { kind: event.kind, namespace: 'default', name: event.name },
    fields: [],
    quote: '',
    changes: [],
    command: '',
    ...words,
  }
  const inMarkup = { ...contentOfSummary(all, markup.escape), ...content }
  return {
    id,
    rule,
    labels: {},
    event,
    route,
    object,
    objectJson,
    attempt,
    cloudEvent,
    summary: all,
    content: inMarkup,
  }
}

/** A crash, a roll-out, and an end. */
export function threeMessages(markup: Markup): Record<string, Message> {
  const regarding = { kind: 'Pod', namespace: 'shop', name: 'web-5d9c-x2x', uid: 'uid-of-the-pod' }
  const crash = told(
    {
      severity: 'error',
      title: 'Pod shop/web-5d9c-x2x crashes again and again',
      text: 'Its container app has ended 7 times in 12 minutes (exit code 137, OOMKilled).',
      about: { kind: 'Pod', namespace: 'shop', name: 'web-5d9c-x2x' },
      fields: [
        { title: 'Owner', value: 'Deployment web' },
        { title: 'Node', value: 'worker-3' },
        { title: 'Restarts', value: '7' },
      ],
      quote: 'Back-off restarting failed container app in pod web-5d9c-x2x_shop(6f1c)',
      command: 'kubectl -n shop describe pod web-5d9c-x2x',
    },
    markup,
    {
      rule: 'crash-loops',
      name: 'web-5d9c-x2x.17a1',
      event: { cluster: 'prod-eu', kind: 'Event', namespace: 'shop' },
      kubeEvent: { type: 'Warning', reason: 'BackOff', message: 'Back-off', count: 7, regarding },
    },
    {
      links: [
        { title: 'Logs', url: 'https://logs.example.com/?q=web&ns=shop' },
        { title: 'Runbook', url: 'https://wiki.example.com/oom' },
      ],
    },
  )
  const rollout = told(
    {
      severity: 'info',
      title: 'Deployment shop/web rolls out nginx:1.27 → nginx:1.28',
      about: { kind: 'Deployment', namespace: 'shop', name: 'web' },
      fields: [{ title: 'Replicas', value: '3' }],
      changes: [
        { path: 'spec.template.spec.containers[name=web].image', old: 'nginx:1.27', new: 'nginx:1.28' },
        { path: 'spec.replicas', old: 2, new: 3 },
      ],
      command: 'kubectl -n shop rollout status deployment web',
    },
    markup,
    {
      rule: 'deployments',
      name: 'web',
      event: { cluster: 'prod-eu', kind: 'Deployment', namespace: 'shop' },
    },
  )
  const resolved = told(
    {
      severity: 'resolved',
      title: 'Pod shop/web-5d9c-x2x runs again',
      text: 'It has been ready for 5 minutes.',
      about: { kind: 'Pod', namespace: 'shop', name: 'web-5d9c-x2x' },
    },
    markup,
    {
      rule: 'crash-loops',
      name: 'web-5d9c-x2x',
      uid: 'uid-of-the-pod',
      event: { cluster: 'prod-eu', kind: 'Pod', namespace: 'shop' },
    },
  )
  return { crash, rollout, resolved }
}
