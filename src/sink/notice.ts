import type { EventHeader } from '../event.ts'
import type { Field, Subject } from './message.ts'

/** Of a message. What limits tell has an id of its own: the same event may have been sent by another rule. */
export function messageId({
  event,
  rule,
  notice,
}: Pick<Subject, 'rule' | 'notice'> & { readonly event: Pick<EventHeader, 'id'> }): string {
  const own = notice ? `/${notice.kind}/${rule}` : ''
  // Out of limits its event has it already.
  return event.id.endsWith(own) ? event.id : event.id + own
}

/** When it was so: of a digest the last, of what is over its end. RFC 3339. */
export function timeOf({
  event,
  notice,
}: Pick<Subject, 'notice'> & { readonly event: Pick<EventHeader, 'time'> }): string {
  if (!notice) return event.time
  return notice.kind === 'digest' ? notice.to : notice.at
}

/** Whatever was said: what was held back before, and the labels of the rule. */
export function fieldsBeside({ heldBack, labels }: Pick<Subject, 'heldBack' | 'labels'>): Field[] {
  const before = heldBack && {
    title: 'Held back',
    value: `${heldBack.count} more since ${clock(heldBack.since)}`,
  }
  const ours = Object.entries(labels).map(([title, value]) => ({ title, value }))
  return before ? [before, ...ours] : ours
}

const MOST = 8

/** As many of the first as leave room for those beside them. */
export function joinedFields(fields: readonly Field[], beside: readonly Field[]): Field[] {
  return [...fields.slice(0, Math.max(0, MOST - beside.length)), ...beside.slice(0, MOST)]
}

/** `2026-11-21 10:02:07 UTC` of a time in RFC 3339; what is no time stays as it is. */
export function clock(time: string): string {
  const ms = Date.parse(time)
  return Number.isFinite(ms) ? `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC` : time
}
