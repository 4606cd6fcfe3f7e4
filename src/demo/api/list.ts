import type { ServedResource } from './catalogue.ts'
import { type Form, showList } from './form.ts'
import { parseNumber, parsePosition } from './parameters.ts'
import type { Selection } from './selection.ts'
import { badRequest, expired, Refusal, tooLarge } from './status.ts'
import type { Store } from './store.ts'

/** Answers a list: consistent, in pages when `limit` says so, at the position that `continue` or `resourceVersion` asks for. */
export function listAnswer(
  store: Store,
  resource: ServedResource,
  selects: Selection,
  form: Form,
  query: URLSearchParams,
): object {
  const limit = parseNumber(query.get('limit')) ?? 0
  const token = query.get('continue') ? readToken(query.get('continue') ?? '') : undefined
  const revision = token?.revision ?? revisionOf(store, query)
  if (revision < store.oldestRevision())
    throw expired(token ? TOKEN_EXPIRED : `too old resource version: ${revision}`)
  const objects = store.list(resource, revision).filter(selects)
  const start = token?.start ?? 0
  const end = limit > 0 ? start + limit : objects.length
  const left = objects.length - end
  const metadata = {
    resourceVersion: String(revision),
    ...(left > 0 && { continue: writeToken({ revision, start: end }), remainingItemCount: left }),
  }
  return showList(resource, form, metadata, objects.slice(start, end))
}

const TOKEN_EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.'

function revisionOf(store: Store, query: URLSearchParams): number {
  const current = store.revision()
  const match = query.get('resourceVersionMatch') ?? ''
  const asked = parsePosition(query.get('resourceVersion') ?? '')
  if (match !== '' && asked === undefined)
    throw invalid('resourceVersionMatch is forbidden unless resourceVersion is provided')
  if (!['', 'Exact', 'NotOlderThan'].includes(match)) throw invalid(`Unsupported value: "${match}"`)
  if (match === 'Exact' && asked === 0)
    throw invalid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
  if (asked !== undefined && asked > current) throw tooLarge(asked, current)
  return match === 'Exact' && asked !== undefined ? asked : current
}

function invalid(message: string): Refusal {
  const what = `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ${message}`
  return new Refusal(422, 'Invalid', what, { group: 'meta.k8s.io', kind: 'ListOptions' })
}

interface Token {
  revision: number
  /** How many were shown before. */
  start: number
}

function writeToken(token: Token): string {
  return Buffer.from(JSON.stringify(token)).toString('base64url')
}

function readToken(text: string): Token {
  try {
    const { revision, start } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Token
    if (Number.isInteger(revision) && Number.isInteger(start)) return { revision, start }
  } catch {
    // said below
  }
  throw badRequest('invalid continue token: continue key is not valid')
}
