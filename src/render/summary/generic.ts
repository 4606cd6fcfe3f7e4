import { changeAt, changesListed, changesOf, inStatus, isKnown, isNoise, wantedOf } from './changes.ts'
import { type Condition, conditionOf, conditionsOf, flipOf } from './conditions.ts'
import { field, isSettled } from './meta.ts'
import { number, text } from './read.ts'
import type { Draft, Teller, Told } from './told.ts'
import { because, clause, words } from './wording.ts'

/** Any kind at all: conditions and phases as they are common among custom resources. */
export const generic: Teller = {
  trouble: (told) => failed(told) ?? notReady(told),
  wanted(_told, changes) {
    return { severity: 'info', says: ` changed: ${changesListed(changes)}` }
  },
  state: (told) => becameReady(told) ?? newPhase(told) ?? otherStatus(told) ?? asItIs(told),
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

const BAD_PHASE = /^(?:failed|error|errored|lost|degraded|crash\w*|unhealthy)$/i
const GOOD_PHASE = /^(?:ready|running|active|available|bound|healthy|succeeded|completed?|synced)$/i
const PHASES = ['phase', 'state', 'health']

function phaseOf(object: Told['object']): string {
  for (const name of PHASES) {
    const found = text(object, 'status', name) || text(object, 'status', name, 'status')
    if (found !== '' && found.length <= 40) return found
  }
  return ''
}

function about({ reason, since }: Condition) {
  return [field('Reason', reason), field('Since', since)]
}

function failed(told: Told): Draft | undefined {
  for (const type of FAILED) {
    const condition = conditionOf(told, type)
    if (condition?.status !== 'True') continue
    const says = type === 'Failed' ? ' failed' : ` is ${type === 'Error' ? 'in error' : words(type)}`
    const severity = type === 'Degraded' ? 'warning' : 'error'
    return {
      severity,
      says: says + because(condition.message),
      quote: condition.message,
      fields: about(condition),
    }
  }
  const phase = phaseOf(told.object)
  if (!BAD_PHASE.test(phase)) return undefined
  const quote = text(told.object, 'status', 'message') || text(told.object, 'status', 'reason')
  return { severity: 'error', says: `${inPhase(phase)}${because(quote)}`, quote }
}

function speaker(told: Told): Condition | undefined {
  for (const type of GOOD) {
    const found = conditionOf(told, type)
    if (found) return found
  }
  return undefined
}

/** Being made, changed or removed is no trouble. */
const UNDER_WAY =
  /progress|creat|pending|wait|provision|start|init|install|upgrad|updat|reconcil|schedul|issuing|doesnotexist|delet|suspend|paused|unknown/i

function notReady(told: Told): Draft | undefined {
  const condition = speaker(told)
  if (condition?.status !== 'False') return undefined
  const calm = UNDER_WAY.test(condition.reason) && !/fail|error|crash/i.test(condition.reason)
  if (calm && flipOf(told, condition.type)?.old !== 'True') return undefined
  const says = ` is not ${words(condition.type)}${because(condition.message || condition.reason)}`
  return { severity: 'warning', says, quote: condition.message, fields: about(condition) }
}

function becameReady(told: Told): Draft | undefined {
  const condition = speaker(told)
  const flip = condition && flipOf(told, condition.type)
  if (condition?.status !== 'True' || !flip) return undefined
  const again = isSettled(told) && (flip.old === '' || flip.old === 'False')
  const says = ` is ${words(condition.type)}${again ? ' again' : ''}`
  return { severity: again ? 'resolved' : 'info', says }
}

function newPhase(told: Told): Draft | undefined {
  const phase = phaseOf(told.object)
  const change = PHASES.flatMap((name) => [`status.${name}`, `status.${name}.status`])
    .map((path) => changeAt(told, path))
    .find((it) => text(it?.new) === phase)
  if (phase === '' || !change) return undefined
  const old = text(change.old)
  const recovered = BAD_PHASE.test(old) && GOOD_PHASE.test(phase)
  const before = old === '' ? '' : `, before: ${words(old)}`
  return { severity: recovered ? 'resolved' : 'info', says: `${inPhase(phase)}${before}` }
}

/** ` is running`, ` failed`, ` is backing up`. */
function inPhase(phase: string): string {
  const said = clause(words(phase), 40)
  if (/^(?:failed|succeeded|completed)$/i.test(said)) return ` ${said.toLowerCase()}`
  if (/^(?:complete|error)$/i.test(said)) return ` is ${/e$/.test(said) ? 'complete' : 'in error'}`
  return ` is ${said}`
}

function otherStatus(told: Told): Draft | undefined {
  const changes = changesOf(told).filter((it) => inStatus(it) && !isNoise(it))
  const flipped = conditionsOf(told).find((it) => flipOf(told, it.type))
  if (isKnown(told) && flipped) {
    const says = `: ${flipped.type} is now ${flipped.status}${because(flipped.message)}`
    return { severity: 'info', says, quote: flipped.message, fields: about(flipped) }
  }
  if (changes.length === 0 || wantedOf(told).length > 0) return undefined
  return { severity: 'info', says: ` changed: ${changesListed(changes)}` }
}

function asItIs(told: Told): Draft {
  const { object } = told
  const condition = speaker(told)
  const unseen =
    (number(object, 'metadata', 'generation') ?? 0) >
    (number(object, 'status', 'observedGeneration') ?? Number.POSITIVE_INFINITY)
  const text = unseen ? 'Its controller has not seen the change yet.' : ''
  if (isKnown(told)) return { severity: 'info', says: ' changed', text }
  const phase = phaseOf(object)
  if (condition?.status === 'True')
    return { severity: 'info', says: ` changed, it is ${words(condition.type)}`, text }
  if (condition)
    return {
      severity: 'info',
      says: ` is not ${words(condition.type)} yet`,
      quote: condition.message,
    }
  return {
    severity: 'info',
    says:
      phase === '' ? ' changed' : ` changed,${phase === '' ? '' : inPhase(phase).replace(/^ is/, ' it is')}`,
    text,
  }
}
