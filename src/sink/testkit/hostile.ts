import type { FieldChange } from '../../event.ts'
import type { Message } from '../message.ts'
import type { SinkType } from '../sink.ts'
import { type MessageParts, messageOf } from './messages.ts'

export interface HostileMessage {
  /** What is hostile about it. */
  what: string
  message: Message
}

const MEBIBYTE = 1024 * 1024

const TEXTS: Readonly<Record<string, string>> = {
  'markup of chats and templates':
    '<!channel> <@U1> <https://x|y> ``` *b* _i_ ~s~ &amp; [a](https://b) {{ 7 | times: 7 }} {% raw %} $' +
    '{env:HOME}',
  'control characters': '\u0007\u001b[31m\u009b2J\u001b]0;t\u0007\u0085\u2028',
  NUL: 'before\u0000after',
  'line breaks that could end a header or a line': 'a\r\nx-injected: 1\r\n\r\n{"id":"no"}\n',
  'marks that turn the direction': '\u202e\u2066evil\u200f',
  'halves of surrogate pairs': '\ud800 alone \udc00',
  emoji: '👩‍👩‍👧‍👦🏳️‍🌈'.repeat(200),
  'quotes and backslashes': `"'\`\\"; DROP TABLE events; --`,
}

/** Messages such as a cluster's users can make: none of them may harm a sink, or what it delivers beside them. */
export function hostileMessages(
  type: Pick<SinkType, 'escape'> = {},
  { route, prefix = 'hostile' }: Pick<MessageParts, 'route'> & { prefix?: string } = {},
): HostileMessage[] {
  return partsOfAll().map(([what, parts], i) => ({
    what,
    message: messageOf({ ...parts, uid: `${prefix}${i}`, ...(route !== undefined && { route }) }, type),
  }))
}

function partsOfAll(): [what: string, parts: MessageParts][] {
  return [
    ...Object.entries(TEXTS).map(([what, text]): [string, MessageParts] => [what, saying(text)]),
    ['a message of 1 MiB', saying('x'.repeat(MEBIBYTE), 'big')],
    ['labels named like parts of prototypes', { object: prototypeLabels() }],
    ['empty names', { name: '', event: { kind: '', path: '', namespace: '', apiVersion: '' }, object: {} }],
    ['nothing that its kind should have', { object: { metadata: null, spec: 'text', status: [null] } }],
    ['values nested 500 deep', { object: nested(500) }],
    ['40 changes with long values', { event: { changes: longChanges() } }],
  ]
}

function saying(text: string, name = text): MessageParts {
  return {
    name,
    kubeEvent: {
      type: text.slice(0, 1_000),
      reason: text.slice(0, 1_000),
      message: text,
      regarding: { name },
    },
    object: { metadata: { name, labels: { [name]: text } }, message: text },
    rule: name,
  }
}

function prototypeLabels(): object {
  return JSON.parse(
    '{"metadata":{"labels":{"__proto__":"a","constructor":"b","toString":"c","hasOwnProperty":"d","length":"9"}},"__proto__":{"x":1},"constructor":{"prototype":{}}}',
  ) as object
}

function nested(depth: number): object {
  let object: object = {}
  for (let i = 0; i < depth; i++) object = { a: [object] }
  return object
}

function longChanges(): FieldChange[] {
  return Array.from({ length: 40 }, (_, i) => ({
    path: `spec.constructor.__proto__[${i}]`,
    old: '`<'.repeat(500),
    ...(i % 2 === 0 && { new: { nested: ['\u0000', null] } }),
  }))
}
