import { isKnown } from './changes.ts'
import { conditionOf, flipOf } from './conditions.ts'
import { field } from './meta.ts'
import { at, list, text } from './read.ts'
import type { Draft, Teller, Told } from './told.ts'
import { because, listed, sentence } from './wording.ts'

export const namespace: Teller = {
  ending: (told) => stuck(told) ?? ending(told),
}

function stuck(told: Told): Draft | undefined {
  for (const type of STUCK) {
    const condition = conditionOf(told, type)
    if (condition?.status !== 'True') continue
    const says = ` cannot be deleted${because(condition.message)}`
    const fields = [field('Reason', condition.reason), field('Since', condition.since)]
    return { severity: 'warning', says, quote: condition.message, fields }
  }
  return undefined
}

const STUCK = [
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
  'NamespaceDeletionContentFailure',
]

function ending(told: Told): Draft {
  const left = ['NamespaceFinalizersRemaining', 'NamespaceContentRemaining']
    .map((type) => conditionOf(told, type))
    .find((it) => it?.status === 'True')
  return { severity: 'info', says: ' is being deleted', text: sentence(left?.message ?? '') }
}

export const definition: Teller = {
  trouble(told) {
    for (const type of ['NamesAccepted', 'Established']) {
      const condition = conditionOf(told, type)
      if (
        condition?.status !== 'False' ||
        condition.reason === 'Installing' ||
        condition.reason === 'NotAccepted'
      )
        continue
      const says = type === 'NamesAccepted' ? ' has names that are taken' : ' is not established'
      return { severity: 'warning', says: says + because(condition.message), quote: condition.message }
    }
    return undefined
  },
  wanted(_told, changes) {
    if (!changes.some(({ path }) => path.startsWith('spec.versions'))) return undefined
    return { severity: 'info', says: ' changed its versions or their schemas' }
  },
  state(told) {
    if (conditionOf(told, 'Established')?.status !== 'True') return undefined
    const flip = flipOf(told, 'Established')
    if (isKnown(told) && !flip) return undefined
    return { severity: 'info', says: ' is established', text: `${kindOf(told.object)} can be used now.` }
  },
  created: ({ object }) => `Brings the kind ${kindOf(object)}.`,
  fields: ({ object }) => [
    field('Kind', text(object, 'spec', 'names', 'kind')),
    field('Versions', versions(object)),
    field('Scope', text(object, 'spec', 'scope')),
  ],
}

function kindOf(object: Told['object']): string {
  return text(object, 'spec', 'names', 'kind') || 'Its kind'
}

function versions(object: Told['object']): string {
  return listed(
    list(object, 'spec', 'versions').map(
      (it) => `${text(it, 'name')}${at(it, 'served') === false ? ' (not served)' : ''}`,
    ),
  )
}
