import type { Resolved } from '../../delivery.ts'
import type { Words } from '../../sink/index.ts'
import { clock } from '../../sink/notice.ts'
import { eventsAbout } from './command.ts'
import { finish } from './finish.ts'
import { field } from './meta.ts'
import { text, timeMs } from './read.ts'
import type { Told } from './told.ts'
import { clause, duration, sentence } from './wording.ts'

/** Tells that what a rule told of is over. `now` are the words of the change that ended it, or of the last one. */
export function wordsOfResolved(told: Told, resolved: Resolved, now: Words, rule: string): Words {
  const { since, at, why } = resolved
  const { kind, namespace = '', name } = now.about
  const target = { apiVersion: text(told.event, 'apiVersion'), kind, namespace, name }
  const subject = `${kind} ${namespace && `${namespace}/`}${name}`
  const fields = [
    ...now.fields.filter(({ title }) => LASTING.includes(title)),
    field('Began', clock(since)),
    field('Over', clock(at)),
  ]
  return finish(
    target,
    { severity: 'resolved', says: '', ...said(told, resolved, now, { subject, rule }), fields },
    why === 'ended' ? now.changes : [],
    why === 'deleted' && !told.event.event ? eventsAbout(target) : now.command,
  )
}

/** What is as true when it is over. */
const LASTING = ['Owner', 'Reason', 'Container', 'Node', 'Noticed']

function said(
  { event }: Told,
  { since, at, why }: Resolved,
  now: Words,
  { subject, rule }: { subject: string; rule: string },
): { title: string; text: string } {
  const after = lasted(since, at)
  switch (why) {
    case 'deleted':
      return { title: `Resolved: ${subject} was deleted${after}`, text: '' }
    case 'unwatched':
      return { title: `Resolved: ${subject} is no longer watched${after}`, text: '' }
    case 'quiet': {
      const reason = clause(text(event.event, 'reason'), 60)
      const title = `Resolved: nothing more ${reason === '' ? 'of' : `like ${reason} from`} ${subject}${after}`
      return { title, text: `The last was at ${clock(event.time)}${because(now.quote)}` }
    }
    default:
      return now.severity === 'resolved'
        ? { title: `Resolved: ${now.title}${after}`, text: now.text }
        : { title: `Resolved: ${subject} no longer matches ${rule}${after}`, text: sentence(now.title) }
  }
}

/** ` after 12 min`; nothing when a time is missing. */
function lasted(since: string, at: string): string {
  const [from, to] = [timeMs(since), timeMs(at)]
  return from === undefined || to === undefined || to < from ? '' : ` after ${duration(to - from)}`
}

function because(quote: string): string {
  return quote === '' ? '.' : `: ${sentence(quote)}`
}
