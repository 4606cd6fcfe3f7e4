import { changeAt } from './changes.ts'
import { conditionOf, flipOf } from './conditions.ts'
import { field } from './meta.ts'
import { number, text } from './read.ts'
import type { Draft, Teller, Told } from './told.ts'
import { because, counted } from './wording.ts'

/** HorizontalPodAutoscalers. */
export const scaler: Teller = {
  trouble(told) {
    for (const type of ['AbleToScale', 'ScalingActive']) {
      const condition = conditionOf(told, type)
      if (condition?.status !== 'False' || condition.reason === 'ScalingDisabled') continue
      const says = ` cannot scale${because(scalerClause(condition.message))}`
      const fields = [field('Reason', condition.reason), field('Since', condition.since)]
      return { severity: 'warning', says, quote: condition.message, fields }
    }
    return undefined
  },
  wanted(told, changes) {
    const limits = changes.filter(({ path }) => /^spec\.(?:min|max)Replicas$/.test(path))
    if (limits.length === 0 || limits.length < changes.length) return undefined
    return { severity: 'info', says: ` now scales between ${range(told)}` }
  },
  state: scalerState,
  created: (told) => `Scales ${scaled(told.object)} between ${range(told)}.`,
  fields({ object }) {
    return [
      field('Scales', scaled(object)),
      field(
        'Range',
        `${number(object, 'spec', 'minReplicas') ?? 1} to ${number(object, 'spec', 'maxReplicas') ?? '?'}`,
      ),
      field('Last scaled', text(object, 'status', 'lastScaleTime')),
    ]
  },
}

/** What went wrong with metrics, without what the controller wanted to do with them. */
export function scalerClause(message: string): string {
  return message
    .replace(/^the HPA (?:was|controller was) unable to [^:]+: /, '')
    .replace(/^invalid metrics \([^)]*\), first error is: /, '')
    .replace(/^(?:failed to get [^:]+: )+/, '')
}

function scaled(object: Told['object']): string {
  return `${text(object, 'spec', 'scaleTargetRef', 'kind')} ${text(object, 'spec', 'scaleTargetRef', 'name')}`.trim()
}

function range({ object }: Told): string {
  return `${number(object, 'spec', 'minReplicas') ?? 1} and ${number(object, 'spec', 'maxReplicas') ?? '?'} replicas`
}

function scalerState(told: Told): Draft | undefined {
  const { object } = told
  const limited = conditionOf(told, 'ScalingLimited')
  const capped = limited?.status === 'True' && limited.reason === 'TooManyReplicas'
  const active = conditionOf(told, 'ScalingActive')
  if (active?.status === 'True' && flipOf(told, 'ScalingActive')?.old === 'False') {
    return { severity: 'resolved', says: ' can scale again' }
  }
  const most = number(object, 'spec', 'maxReplicas')
  const text = capped ? `It would take more, but ${most ?? 'that'} is its maximum.` : ''
  const desired = changeAt(told, 'status.desiredReplicas')
  if (desired && typeof desired.old === 'number' && typeof desired.new === 'number') {
    return { severity: 'info', says: ` scaled from ${desired.old} to ${desired.new}`, text }
  }
  const [now, then] = [
    number(object, 'status', 'currentReplicas'),
    number(object, 'status', 'desiredReplicas'),
  ]
  if (now === undefined || then === undefined) return undefined
  if (now !== then) return { severity: 'info', says: ` is scaling from ${now} to ${then}`, text }
  if (capped && flipOf(told, 'ScalingLimited')) {
    return {
      severity: 'warning',
      says: ` is at its maximum of ${counted(most ?? now, 'replica')}`,
      text,
      quote: limited.message,
    }
  }
  return { severity: 'info', says: ` keeps ${counted(now, 'replica')}` }
}
