import type { Delivery, Digest, DigestItem } from '../../src/model/delivery.ts'
import type { EventHeader } from '../../src/model/event.ts'
import { compileMessage, createRender, type RuleAttributes } from '../../src/render/message.ts'
import type { Markup, Message } from '../../src/sink/index.ts'

const FROM = '2026-11-21T09:14:07.312Z'

/** Deliveries that limits make, as the queue carries them. */
export const NOTICES: Readonly<Record<string, Delivery>> = {
  'a digest of back-offs': delivery(podEvent('web-1'), {
    notice: digest(
      [
        'web-1',
        'web-2',
        'web-1',
        'web-3',
        'web-1',
        'web-2',
        'web-4',
        'web-5',
        'web-6',
        'web-7',
        'web-1',
        'web-2',
      ].map((name, i) => backOff(name, i)),
    ),
  }),
  'a digest of more than it lists': delivery(podEvent('web-1'), {
    notice: { ...digest(Array.from({ length: 100 }, (_, i) => backOff(`web-${i % 11}`, i))), count: 340 },
  }),
  'a digest of mixed things': delivery(podEvent('web-1'), {
    notice: {
      ...digest([
        backOff('web-1', 0),
        { ...backOff('web-1', 1), reason: 'Unhealthy', message: 'Readiness probe failed: HTTP 503' },
        {
          ...backOff('db-0', 2),
          reason: 'FailedScheduling',
          message: '0/3 nodes are available',
          regarding: { kind: 'Pod', namespace: 'data', name: 'db-0' },
        },
      ]),
      by: [['labels.team', 'pay']],
    },
  }),
  'a digest of roll-outs': delivery(header('Deployment', 'web', { apiVersion: 'apps/v1' }), {
    notice: {
      ...digest(
        ['web', 'api', 'web'].map((name, i) => ({
          id: `c/u/${i}/MODIFIED`,
          type: 'MODIFIED',
          kind: 'Deployment',
          namespace: 'shop',
          name,
          time: FROM,
        })),
      ),
      by: [
        ['namespace', 'shop'],
        ['kind', 'Deployment'],
      ],
    },
  }),
  'a Node that is ready again': delivery(header('Node', 'worker-3', { namespace: '' }), {
    object: node('True'),
    notice: {
      kind: 'resolved',
      since: FROM,
      at: '2026-11-21T09:26:11.000Z',
      why: 'ended',
      title: 'Node worker-3 is not ready: its kubelet does not answer',
    },
  }),
  'a state that is left': delivery(header('Deployment', 'web', { apiVersion: 'apps/v1' }), {
    notice: { kind: 'resolved', since: FROM, at: '2026-11-21T09:14:37.000Z', why: 'ended' },
  }),
  'a Pod that is deleted': delivery(header('Pod', 'web-1', { type: 'DELETED' }), {
    notice: {
      kind: 'resolved',
      since: FROM,
      at: '2026-11-21T11:15:07.000Z',
      why: 'deleted',
      title: 'Pod shop/web-1 is crash-looping, 5 restarts',
    },
  }),
  'a Pod that is no longer watched': delivery(header('Pod', 'web-1'), {
    notice: { kind: 'resolved', since: FROM, at: '2026-11-21T11:15:07.000Z', why: 'unwatched' },
  }),
  'back-offs that stopped': delivery(podEvent('web-1'), {
    notice: { kind: 'resolved', since: FROM, at: '2026-11-21T09:29:09.000Z', why: 'quiet' },
  }),
  'one after others were suppressed': delivery(podEvent('web-1'), {
    suppressed: { count: 14, since: '2026-11-21T09:02:07.000Z' },
  }),
}

const RULE: RuleAttributes = { labels: { team: 'pay', runbook: 'https://wiki.example.com/b*ck-offs' } }

/** As the core renders it for a sink with this markup. */
export function noticeMessage(
  it: Delivery,
  markup: Markup = {},
  { rule = RULE, route = {} }: { rule?: RuleAttributes; route?: unknown } = {},
): Message<any> {
  const contentOf = compileMessage(undefined, undefined, markup)
  return createRender({ routeOf: () => route, ruleOf: () => rule, contentOf })(it, 0) as Message<any>
}

function delivery(
  event: EventHeader,
  { object = {}, ...rest }: { object?: object } & Pick<Delivery, 'notice' | 'suppressed'>,
): Delivery {
  return { sink: 's', rule: 'trouble', event, objectJson: Buffer.from(JSON.stringify(object)), ...rest }
}

function header(kind: string, name: string, parts: Partial<EventHeader> = {}): EventHeader {
  const { type = 'MODIFIED' } = parts
  const { namespace, ...event } = {
    id: `c/u-${name}/7/${type}`,
    type,
    cluster: 'prod-eu',
    apiVersion: 'v1',
    kind,
    path: `/api/${kind}/${name}`,
    namespace: 'shop',
    name,
    uid: `u-${name}`,
    resourceVersion: '7',
    time: FROM,
    ...parts,
  }
  return namespace ? { ...event, namespace } : event
}

function podEvent(pod: string): EventHeader {
  const event = {
    type: 'Warning',
    reason: 'BackOff',
    message: `Back-off restarting failed container app in pod ${pod}`,
    count: 3,
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: pod, uid: `u-${pod}` },
  }
  return header('Event', `${pod}.17a1`, { type: 'ADDED', event })
}

function digest(items: DigestItem[]): Digest {
  return {
    kind: 'digest',
    count: items.length,
    by: [
      ['namespace', 'shop'],
      ['reason', 'BackOff'],
    ],
    from: FROM,
    to: '2026-11-21T09:17:09.000Z',
    items,
  }
}

function backOff(pod: string, i: number): DigestItem {
  return {
    id: `c/e${i}/7/ADDED`,
    type: 'ADDED',
    kind: 'Event',
    namespace: 'shop',
    name: `${pod}.${i}`,
    time: FROM,
    eventType: 'Warning',
    reason: 'BackOff',
    message: `Back-off restarting failed container app in pod ${pod}`,
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: pod },
  }
}

function node(ready: string): object {
  const condition = {
    type: 'Ready',
    status: ready,
    reason: 'KubeletReady',
    message: 'kubelet is posting ready status',
    lastTransitionTime: FROM,
  }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'worker-3', creationTimestamp: '2026-01-01T00:00:00Z' },
    status: { conditions: [condition] },
  }
}
