import type { Stored } from '../objects.ts'
import type { ServedResource } from './catalogue.ts'
import { badRequest } from './status.ts'

/** Tells which objects of a resource are asked for. */
export type Selection = (object: Stored) => boolean

/** By namespace ('' for all) and by `labelSelector` and `fieldSelector`. Throws Refusal for one that cannot be read. */
export function selectionOf(resource: ServedResource, namespace: string, query: URLSearchParams): Selection {
  const byLabels = labelSelection(query.get('labelSelector') ?? '')
  const byFields = fieldSelection(resource, query.get('fieldSelector') ?? '')
  return (object) =>
    (namespace === '' || object.metadata.namespace === namespace) && byLabels(object) && byFields(object)
}

function labelSelection(selector: string): Selection {
  // A comma between parentheses parts values, not requirements.
  const terms = (selector.match(/(?:\([^()]*\)?|[^,(])+/g) ?? []).filter((term) => term.trim() !== '')
  const requirements = terms.map((term) => requirementOf(term.trim()))
  return ({ metadata }) => requirements.every((it) => it(metadata.labels ?? {}))
}

type Requirement = (labels: Readonly<Record<string, string>>) => boolean

const KEY = '([A-Za-z0-9][-A-Za-z0-9_./]*)'
const SET = new RegExp(`^${KEY} +(in|notin) *\\(([^()]*)\\)$`)
const EQUALITY = new RegExp(`^${KEY} *(==?|!=) *([-A-Za-z0-9_.]*)$`)
const PRESENCE = new RegExp(`^(!?) *${KEY}$`)

function requirementOf(term: string): Requirement {
  const [, setKey = '', setOperator, list = ''] = SET.exec(term) ?? []
  const values = list.split(',').map((value) => value.trim())
  if (setOperator === 'in') return (labels) => setKey in labels && values.includes(labels[setKey] ?? '')
  if (setOperator === 'notin') return (labels) => !(setKey in labels && values.includes(labels[setKey] ?? ''))
  const [, equalKey = '', operator, value] = EQUALITY.exec(term) ?? []
  if (operator !== undefined) return (labels) => (labels[equalKey] === value) === (operator !== '!=')
  const [, not, key = ''] = PRESENCE.exec(term) ?? []
  if (not === undefined) throw badRequest(`unable to parse requirement: '${term}'`)
  return (labels) => key in labels !== (not === '!')
}

function fieldSelection(resource: ServedResource, selector: string): Selection {
  const terms = selector
    .split(',')
    .filter(Boolean)
    .map((term) => fieldTerm(resource, term))
  return (object) => terms.every((term) => term(object))
}

function fieldTerm({ namespaced, selectableFields }: ServedResource, term: string): Selection {
  const [, path = '', operator, value] = /^([^!=]+)(!=|==?)(.*)$/.exec(term) ?? []
  if (operator === undefined) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`)
  const known = ['metadata.name', ...(namespaced ? ['metadata.namespace'] : []), ...selectableFields]
  if (!known.includes(path)) throw badRequest(`field label not supported: ${path}`)
  return (object) => (fieldOf(object, path) === value) === (operator !== '!=')
}

function fieldOf(object: Stored, path: string): string {
  const value = path
    .split('.')
    .reduce<unknown>(
      (it, key) => (typeof it === 'object' && it ? (it as Record<string, unknown>)[key] : undefined),
      object,
    )
  return value === undefined || value === null ? '' : String(value)
}
