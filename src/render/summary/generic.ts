import {
  type Condition,
  changeAt,
  changesListed,
  changesOf,
  conditionOf,
  conditionsOf,
  flipOf,
  inStatus,
  isKnown,
  isNoise,
  wantedOf,
} from './changes.ts'
import { because, clause, separated } from './phrasing.ts'
import {
  type Draft,
  field,
  isSettled,
  number,
  type Summarizer,
  type SummaryInput,
  text,
} from './summarizer.ts'
/** Any kind at all: conditions and phases as they are common among custom resources. */
export const generic: Summarizer = {
  trouble: (input) => failed(input) ?? notReady(input),
  wanted(_input, changes) {
    return { severity: 'info', phrase: ` changed: ${changesListed(changes)}` }
  },
  state: (input) => becameReady(input) ?? newPhase(input) ?? otherStatus(input) ?? asItIs(input),
  fields({ object }) {
    const phase = phaseOf(object)
    return [field('Phase', phase)]
  },
}

/** True is bad, and for good. */
const FAILED = ['Failed', 'Stalled', 'Degraded', 'Error', 'ReconcileError']
/** True is good. The first one that is there speaks for the object. */
const GOOD = [
  'Ready',
  'Available',
  'Healthy',
  'Synced',
  'Reconciled',
  'Established',
  'Accepted',
  'Programmed',
  'Succeeded',
]

/** Matches a bad phase, written as text with spaces. A failover that is done is `FailedOver`. */
const BAD_PHASE = /^(?:error(?:ed)?|lost|degraded|unhealthy)$|^crash|\b(?:failed(?! over)|invalid|expired)\b/i
/** Velero finishes a backup that is then `PartiallyFailed`. */
const BEFORE_END = /^(?:finalizing|waiting)\b/i
const GOOD_PHASE = /^(?:ready|running|active|available|bound|healthy|succeeded|completed?|synced)$/i
const PHASES = ['phase', 'state', 'health']

function phaseOf(object: SummaryInput['object']): string {
  for (const name of PHASES) {
    const found = text(object, 'status', name) || text(object, 'status', name, 'status')
    if (found !== '' && found.length <= 40) return found
  }
  return ''
}

function isBad(phase: string): boolean {
  const spaced = separated(phase)
  return BAD_PHASE.test(spaced) && !BEFORE_END.test(spaced)
}

function about({ reason, since }: Condition) {
  return [field('Reason', reason), field('Since', since)]
}

function failed(input: SummaryInput): Draft | undefined {
  for (const type of FAILED) {
    const condition = conditionOf(input, type)
    if (condition?.status !== 'True') continue
    const phrase = type === 'Failed' ? ' failed' : ` is ${type === 'Error' ? 'in error' : separated(type)}`
    const severity = type === 'Degraded' ? 'warning' : 'error'
    return {
      severity,
      phrase: phrase + because(condition.message),
      quote: condition.message,
      fields: about(condition),
    }
  }
  const phase = phaseOf(input.object)
  if (!isBad(phase)) return undefined
  const quote = text(input.object, 'status', 'message') || text(input.object, 'status', 'reason')
  // What was valid for a time, as a grant, expires without a failure, too.
  const severity = /^expired$/i.test(phase) ? 'warning' : 'error'
  return { severity, phrase: `${inPhase(phase)}${because(quote)}`, quote }
}

function speaker(input: SummaryInput): Condition | undefined {
  for (const type of GOOD) {
    const found = conditionOf(input, type)
    if (found) return found
  }
  return undefined
}

/** Being made, changed or removed is no trouble. */
const UNDER_WAY =
  /progress|creat|pending|wait|provision|start|init|install|upgrad|updat|reconcil|schedul|issuing|doesnotexist|delet|suspend|paused|unknown/i

const FAILURE = /fail|error|crash|exceeded|timeout|timedout|unschedulable|denied|invalid/i

function notReady(input: SummaryInput): Draft | undefined {
  const condition = unready(input)
  if (!condition) return undefined
  const { type, reason, message } = condition
  const how = type === ISSUING ? 'could not be issued' : `is not ${separated(type)}`
  const phrase = ` ${how}${because(message || reason)}`
  return { severity: 'warning', phrase, quote: message, fields: about(condition) }
}

/** Returns the first good condition if it is False, else another one if its reason is a failure, as Synced is behind Ready. */
function unready(input: SummaryInput): Condition | undefined {
  const first = speaker(input)
  const calm = first && UNDER_WAY.test(first.reason) && !FAILURE.test(first.reason)
  if (first?.status === 'False' && (!calm || flipOf(input, first.type)?.old === 'True')) return first
  return conditionsOf(input).find(
    ({ type, status, reason }) =>
      (GOOD.includes(type) || type === ISSUING) && status === 'False' && FAILURE.test(reason),
  )
}

/** Condition of cert-manager: True while it issues, False with the reason Failed, else absent. */
const ISSUING = 'Issuing'

function becameReady(input: SummaryInput): Draft | undefined {
  const others = conditionsOf(input).filter(({ type }) => GOOD.includes(type) && hadFailed(input, type))
  const condition = [speaker(input), ...others].find((it) => it?.status === 'True' && flipOf(input, it.type))
  const flip = condition && flipOf(input, condition.type)
  if (!flip) return undefined
  const again = isSettled(input) && (flip.old === '' || flip.old === 'False')
  const phrase = ` is ${separated(condition.type)}${again ? ' again' : ''}`
  return { severity: again ? 'resolved' : 'info', phrase }
}

function hadFailed(input: SummaryInput, type: string): boolean {
  return FAILURE.test(text(changeAt(input, `status.conditions[type=${type}].reason`)?.old))
}

function newPhase(input: SummaryInput): Draft | undefined {
  const phase = phaseOf(input.object)
  const change = PHASES.flatMap((name) => [`status.${name}`, `status.${name}.status`])
    .map((path) => changeAt(input, path))
    .find((it) => text(it?.new) === phase)
  if (phase === '' || !change) return undefined
  const old = text(change.old)
  const recovered = isBad(old) && GOOD_PHASE.test(phase)
  const before = old === '' ? '' : `, before: ${separated(old)}`
  return { severity: recovered ? 'resolved' : 'info', phrase: `${inPhase(phase)}${before}` }
}

/** ` is running`, ` failed`, ` is backing up`. */
function inPhase(phase: string): string {
  const said = clause(separated(phase), 40)
  if (/^(?:(?:partially )?failed|succeeded|completed)\b/i.test(said)) return ` ${said.toLowerCase()}`
  if (/^(?:complete|error)$/i.test(said)) return ` is ${/e$/.test(said) ? 'complete' : 'in error'}`
  return ` is ${said}`
}

function otherStatus(input: SummaryInput): Draft | undefined {
  const changes = changesOf(input).filter((it) => inStatus(it) && !isNoise(it))
  const flipped = conditionsOf(input).find((it) => flipOf(input, it.type))
  if (isKnown(input) && flipped) {
    const phrase = `: ${flipped.type} is now ${flipped.status}${because(flipped.message)}`
    return { severity: 'info', phrase, quote: flipped.message, fields: about(flipped) }
  }
  if (changes.length === 0 || wantedOf(input).length > 0) return undefined
  return { severity: 'info', phrase: ` changed: ${changesListed(changes)}` }
}

function asItIs(input: SummaryInput): Draft {
  const { object } = input
  const condition = speaker(input)
  const unseen =
    (number(object, 'metadata', 'generation') ?? 0) >
    (number(object, 'status', 'observedGeneration') ?? Number.POSITIVE_INFINITY)
  const text = unseen ? 'Its controller has not seen the change yet.' : ''
  if (isKnown(input)) return { severity: 'info', phrase: ' changed', text }
  const phase = phaseOf(object)
  if (condition?.status === 'True')
    return { severity: 'info', phrase: ` changed, it is ${separated(condition.type)}`, text }
  if (condition)
    return {
      severity: 'info',
      phrase: ` is not ${separated(condition.type)} yet`,
      quote: condition.message,
    }
  return {
    severity: 'info',
    phrase:
      phase === '' ? ' changed' : ` changed,${phase === '' ? '' : inPhase(phase).replace(/^ is/, ' it is')}`,
    text,
  }
}
