import type { PresetName } from '../presets/index.ts'
import type { Options as AllOptions } from './shape.ts'
import { isGuarded } from './url.ts'

type Options = Partial<AllOptions>
type Issue = (path: readonly PropertyKey[], message: string) => void

/** Options that only some presets know. */
const OF_PRESETS: Readonly<Record<string, readonly PresetName[]>> = {
  routingKey: ['pagerduty'],
  action: ['pagerduty'],
  resolveAfter: ['alertmanager'],
  labels: ['alertmanager'],
  username: ['discord', 'mattermost'],
  iconUrl: ['discord', 'mattermost'],
  channel: ['mattermost'],
}

/** What is wrong with options that are good each by itself; those that are not are undefined here. */
export function checkTogether(options: Options, issue: Issue): void {
  checkAddresses(options, issue)
  checkAuthorization(options, issue)
  checkFormat(options, issue)
  checkPreset(options, issue)
}

function checkAddresses({ url, auth, allowLinkLocal, tls, proxy }: Options, issue: Issue): void {
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

function checkAuthorization({ url, headers = {}, auth }: Options, issue: Issue): void {
  const inUrl = url !== undefined && (url.base.username !== '' || url.base.password !== '')
  const rest = 'is sent for the user and password in url already; keep one of the two'
  const name = Object.keys(headers).find((it) => it.toLowerCase() === 'authorization')
  if (auth && inUrl) issue(['auth'], 'stands beside a user and password in url; keep one of the two')
  if (name === undefined) return
  if (inUrl) issue(['headers', name], rest)
  if (auth) issue(['headers', name], 'stands beside auth; keep one of the two')
}

function checkFormat(options: Options, issue: Issue): void {
  const { format, preset, batch, body, raw, contentType, url, repeatConflict } = options
  const templated = body !== undefined || raw !== undefined
  if (preset !== undefined) {
    for (const key of ['format', 'body', 'raw', 'contentType', 'batch', 'repeatConflict'] as const)
      if (options[key] !== undefined) issue([key], `stands beside preset: ${preset}; keep one of the two`)
    return
  }
  if (body !== undefined && raw !== undefined) issue(['raw'], 'stands beside body; keep one of the two')
  if (format === 'template' && !templated) issue(['format'], 'needs body: (a tree for JSON) or raw: (a text)')
  if (templated && format !== undefined && format !== 'template')
    issue(
      [body === undefined ? 'raw' : 'body'],
      `is not sent with format: ${format}; leave one of the two out`,
    )
  if (contentType !== undefined && !templated)
    issue(['contentType'], 'is for body and raw; other formats have their own')
  if (batch && format !== 'batch') issue(['batch'], 'needs format: batch')
  if (format === 'batch' && repeatConflict !== undefined)
    issue(['repeatConflict'], 'is about one event, but a batch that is sent again may hold others')
  if (format === 'batch' && url?.template)
    issue(['url'], 'has templates, but a batch is about several objects')
}

function checkPreset(options: Options, issue: Issue): void {
  const { preset, url } = options
  for (const [key, presets] of Object.entries(OF_PRESETS)) {
    if (options[key as keyof Options] === undefined || (preset && presets.includes(preset))) continue
    issue([key], `is only for ${presets.map((it) => `preset: ${it}`).join(' and ')}`)
  }
  if (preset === 'pagerduty' && options.routingKey === undefined)
    issue(['preset'], 'needs routingKey: the integration key of the service in PagerDuty')
  if (preset === 'alertmanager' && url && !url.template && !/\/api\/v2\/alerts$/.test(url.base.pathname))
    issue(['url'], 'must end in /api/v2/alerts, such as http://alertmanager:9093/api/v2/alerts')
}
