import type { Digest, DigestItem, Resolved } from '../../delivery.ts'
import type { Message } from '../message.ts'
import type { SinkType } from '../sink.ts'
import { type MessageParts, messageOf } from './messages.ts'

export interface NoticeMessage {
  /** What it tells. */
  what: string
  message: Message
}

const FROM = '2026-11-21T09:14:07.312Z'
const TO = '2026-11-21T09:17:09.000Z'
const HOSTILE = '<!channel> @everyone `*b*` {{ x }} \u0000\u001b[31m\u202e\ud800 "\\\r\nx: 1'

/** What the limits of rules tell: digests, that something is over, and how many were held back. */
export function noticeMessages(
  type: Pick<SinkType, 'escape'> = {},
  { route, prefix = 'notice' }: Pick<MessageParts, 'route'> & { prefix?: string } = {},
): NoticeMessage[] {
  return Object.entries(PARTS).map(([what, parts], i) => ({
    what,
    message: messageOf(
      { name: `${prefix}${i}`, ...parts, uid: `${prefix}${i}`, ...(route !== undefined && { route }) },
      type,
    ),
  }))
}

const over: Omit<Resolved, 'why'> = { kind: 'resolved', since: FROM, at: TO }

const PARTS: Readonly<Record<string, MessageParts>> = {
  'a digest of twelve': { notice: digestOf(12), kubeEvent: { type: 'Warning', reason: 'BackOff' } },
  'a digest of a hundred thousand, of which a hundred are listed': { notice: digestOf(100, 100_000) },
  'a digest of one': { notice: digestOf(1) },
  'a digest without items': { notice: { ...digestOf(0), count: 3, by: [] } },
  'a digest with hostile names': {
    notice: { ...digestOf(3), by: [[HOSTILE, HOSTILE]], items: digestOf(3).items.map(hostile) },
  },
  'that something ended': { notice: { ...over, why: 'ended' }, words: { severity: 'resolved' } },
  'that something was deleted': { notice: { ...over, why: 'deleted' }, type: 'DELETED' },
  'that something is no longer watched': { notice: { ...over, why: 'unwatched' } },
  'that something went quiet': { notice: { ...over, why: 'quiet' } },
  'how many were held back, with a severity and labels of the rule': {
    heldBack: { count: 14, since: FROM },
    severity: 'error',
    labels: { team: 'pay', constructor: 'x', [HOSTILE]: HOSTILE },
  },
}

function digestOf(items: number, count = items): Digest {
  return {
    kind: 'digest',
    count,
    by: [
      ['namespace', 'shop'],
      ['reason', 'BackOff'],
    ],
    from: FROM,
    to: TO,
    items: Array.from({ length: items }, (_, i) => itemOf(i)),
  }
}

function itemOf(i: number): DigestItem {
  const name = `web-${i % 7}`
  return {
    id: `kit/item${i}/1/ADDED`,
    type: 'ADDED',
    kind: 'Event',
    namespace: 'shop',
    name: `${name}.17a1`,
    time: FROM,
    eventType: 'Warning',
    reason: 'BackOff',
    message: 'Back-off restarting failed container',
    regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name },
  }
}

function hostile(item: DigestItem): DigestItem {
  return {
    ...item,
    name: HOSTILE,
    reason: HOSTILE,
    message: HOSTILE,
    regarding: { kind: HOSTILE, namespace: HOSTILE, name: HOSTILE },
  }
}
