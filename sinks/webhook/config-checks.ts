import type { Options } from './config.ts'
import { PRESETS } from './presets/index.ts'
import type { PresetName } from './presets/names.ts'
import { ACTIONS, type PresetOption, SECRET_OPTIONS } from './presets/options.ts'
import { isGuarded } from './request-options.ts'

type GivenOptions = Partial<Options>
type Issue = (path: readonly PropertyKey[], message: string) => void

/** Checks combinations of valid options; invalid ones are undefined here. */
export function checkTogether(options: GivenOptions, issue: Issue): void {
  const { url, preset } = options
  if (url === undefined && !(preset && PRESETS[preset].knowsUrl)) issue(['url'], 'is missing')
  checkAddresses(options, issue)
  checkAuthorization(options, issue)
  if (preset !== undefined) checkPreset(preset, options, issue)
  else checkFormat(options, issue)
  checkBatch(options, issue)
  checkOwners(options, issue)
}

function checkAddresses({ url, auth, allowLinkLocal, tls, proxy }: GivenOptions, issue: Issue): void {
  const message =
    'is a link-local or cloud metadata address, which gets nothing unless allowLinkLocal is true'
  const tokenUrl = auth?.oauth2?.tokenUrl
  if (allowLinkLocal === false) {
    if (isGuarded(url?.base)) issue(['url'], message)
    if (isGuarded(tokenUrl)) issue(['auth', 'oauth2', 'tokenUrl'], message)
    if (proxy && isGuarded(proxy)) issue(['proxy'], message)
  }
  const secure = [url?.base, tokenUrl].some((it) => it?.protocol === 'https:')
  if (tls && url && !secure) issue(['tls'], 'is for https only, and url is http')
}

function checkAuthorization({ url, headers = {}, auth }: GivenOptions, issue: Issue): void {
  const inUrl = url !== undefined && (url.base.username !== '' || url.base.password !== '')
  const rest = 'is sent for the user and password in url already; keep one of the two'
  const name = Object.keys(headers).find((it) => it.toLowerCase() === 'authorization')
  if (auth && inUrl)
    issue(['auth'], 'cannot be combined with a user and password in url; keep one of the two')
  if (name === undefined) return
  if (inUrl) issue(['headers', name], rest)
  if (auth) issue(['headers', name], 'cannot be combined with auth; keep one of the two')
}

function checkFormat(options: GivenOptions, issue: Issue): void {
  const { format, batch, body, raw, contentType, url, repeatConflict } = options
  const isTemplate = body !== undefined || raw !== undefined
  const key = body === undefined ? 'raw' : 'body'
  if (body !== undefined && raw !== undefined)
    issue(['raw'], 'cannot be combined with body; keep one of the two')
  if (format === 'template' && !isTemplate && !batch?.each)
    issue(['format'], 'needs body: (a tree for JSON) or raw: (a text)')
  if (isTemplate && format !== undefined && format !== 'template')
    issue([key], `is not sent with format: ${format}; leave one of the two out`)
  if (isTemplate && batch) issue([key], 'is one event a request: with batch write it as batch.each')
  if (contentType !== undefined && !isTemplate && !batch?.each)
    issue(['contentType'], 'is for body and raw; other formats have their own')
  if (batch && !batch.each && !isTemplate && format !== 'batch')
    issue(['batch'], 'needs each: (what one event becomes), or format: batch')
  if (batch?.each && format !== undefined && format !== 'template')
    issue(['batch', 'each'], `is not sent with format: ${format}; leave one of the two out`)
  const isBatch = format === 'batch' || batch !== undefined
  if (isBatch && repeatConflict !== undefined)
    issue(['repeatConflict'], 'is about one event, but a batch that is sent again may hold others')
  if (isBatch && url?.template) issue(['url'], 'has templates, but a batch is about several objects')
}

const JOINTS = ['separator', 'before', 'after'] as const

function checkBatch({ batch, preset, compression, secret = [] }: GivenOptions, issue: Issue): void {
  if (compression === 'gzip' && secret.length > 0)
    issue(
      ['compression'],
      'cannot be combined with secret: receivers differ in whether they verify what was compressed',
    )
  if (!batch) return
  if (batch.each && preset)
    issue(['batch', 'each'], 'is written by the preset; body: replaces what it writes')
  for (const key of JOINTS)
    if (batch[key] !== undefined && !batch.each)
      issue(['batch', key], 'is for batch.each; other formats have their own')
}

const OF_FORMATS = ['format', 'body', 'raw', 'contentType', 'batch', 'compression', 'repeatConflict'] as const
const OF_LOG_STORES: readonly string[] = ['body', 'batch', 'compression']

function checkPreset(preset: PresetName, options: GivenOptions, issue: Issue): void {
  const { url, auth, action } = options
  const { needs = [], batches } = PRESETS[preset]
  for (const key of OF_FORMATS)
    if (options[key] !== undefined && !(batches && OF_LOG_STORES.includes(key)))
      issue([key], `cannot be combined with preset: ${preset}; keep one of the two`)
  for (const key of needs) if (options[key] === undefined) issue([key], 'is missing')
  const credential = SECRET_OPTIONS.find((key) => options[key] !== undefined)
  if (auth && credential) issue(['auth'], `cannot be combined with ${credential}; keep one of the two`)
  if (batches && url?.template) issue(['url'], 'has templates, but a batch is about several objects')
  const actions: readonly string[] = ACTIONS[preset as keyof typeof ACTIONS] ?? []
  if (action !== undefined && actions.length > 0 && !actions.includes(action))
    issue(['action'], `must be one of ${actions.join(', ')}`)
  const { topic } = options
  if (preset === 'ntfy' && topic !== undefined && url?.base.pathname.replace(/\/$/, '').endsWith(`/${topic}`))
    issue(
      ['url'],
      'must be the server without the topic, such as https://ntfy.example.com: at the address of a topic, ntfy shows the JSON itself',
    )
  if (preset === 'alertmanager' && url && !url.template && !/\/api\/v2\/alerts$/.test(url.base.pathname))
    issue(['url'], 'must end in /api/v2/alerts, such as http://alertmanager:9093/api/v2/alerts')
}

/** Options that another preset has. */
function checkOwners(options: GivenOptions, issue: Issue): void {
  const own = options.preset ? (PRESETS[options.preset].options ?? []) : []
  for (const [key, presets] of owners()) {
    if (options[key] === undefined || own.includes(key)) continue
    issue([key], `is only for ${presets.map((it) => `preset: ${it}`).join(' and ')}`)
  }
}

function owners(): Map<PresetOption, string[]> {
  const all = new Map<PresetOption, string[]>()
  for (const [name, { options = [] }] of Object.entries(PRESETS))
    for (const option of options) all.set(option, [...(all.get(option) ?? []), name])
  return all
}
