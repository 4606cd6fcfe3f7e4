import type { Path } from './document.ts'
import type { Located } from './located.ts'

/** What to write instead of a value of the wrong shape, where the key tells what was meant. */
export function shapeHint(path: Path, found: Located): string | undefined {
  const [root, , key, condition] = path
  const [name] = path.slice(-1)
  if (path.length === 1) return rootHint(String(root), found)
  if (root === 'sinks' && path.length === 2) return sinkHint(String(name), found)
  if (root === 'rules' && path.length === 3) return ruleHint(String(key), found)
  if (root === 'watch' && path.length === 3 && (key === 'labels' || key === 'fields') && found.entries)
    return mapHint(String(key), found)
  const isSelector =
    (root === 'watch' && (key === 'labels' || key === 'fields')) ||
    (root === 'rules' && key === 'when' && SELECTORS.includes(String(condition)))
  return isSelector && path.length <= 4 && found.items ? selectorHint(String(name), found) : undefined
}

const SELECTORS = ['labels', 'annotations', 'namespaceLabels']

function rootHint(key: string, found: Located): string | undefined {
  switch (key) {
    case 'watch':
      return found.items ? undefined : `write a list: watch: [${plainText(found) ?? 'Event'}]`
    case 'rules':
      return found.items
        ? undefined
        : 'write a list, each rule with "- " in front: - { name: all, to: [screen] }'
    case 'sinks':
      return found.entries ? undefined : 'give each sink a name: sinks: { screen: { type: stdout } }'
    case 'include':
      return found.entries ? `write a list: include: [${includeIn(found)}]` : undefined
    case 'redis':
      return 'write redis: { url: … }'
    case 'kubernetes':
      return 'write kubernetes: { context: … } or kubernetes: { kubeconfig: … }'
    case 'server':
      return serverHint(found)
    case 'cluster':
      return clusterHint(found)
  }
  return undefined
}

/** A map in one line as it stands in the file. */
function includeIn({ file, start, end, secrets }: Located): string {
  const written = file.text.slice(start, end)
  return secrets.length === 0 && /^\{.{1,200}\}$/.test(written) ? written : '{ from: …, to: … }'
}

function serverHint(found: Located): string | undefined {
  const port = /^\d{1,5}$/.exec(found.source ?? plainText(found) ?? '')?.[0]
  if (port !== undefined) return `write server: { port: ${port} }`
  if (found.value === true) return 'leave "server" out, or write server: { port: 9464 }'
  return found.entries ? undefined : 'write server: { host: 127.0.0.1, port: 9464 }, or false for none'
}

function clusterHint(found: Located): string | undefined {
  if (typeof found.value !== 'string' || found.written !== undefined) return undefined
  const fit = found.value.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  return fit === '' || fit.length > 63 || fit === found.value ? undefined : `write ${fit}`
}

/** Nobody names a sink so: they stand as deep as the name of their sink by mistake. */
const SINK_OPTIONS_MOST_USED = new Set([
  ...['type', 'preset', 'url', 'token', 'secret', 'channel', 'format', 'path', 'brokers', 'topic', 'headers'],
])

function sinkHint(name: string, found: Located): string | undefined {
  if (found.entries) return undefined
  const isAddress = typeof found.value === 'string' && found.value.includes('://')
  if (SINK_OPTIONS_MOST_USED.has(name))
    return 'it belongs below the name of a sink: indent it by two more spaces'
  if (isAddress) return `write ${name}: { type: webhook, url: … }`
  return `write ${name}: { type: ${plainText(found) ?? 'stdout'} }`
}

const YES = /^(true|yes|y|on|1)$/i
const NO = /^(false|no|n|off|0)$/i

function ruleHint(key: string, found: Located): string | undefined {
  if (key === 'name')
    return typeof found.value === 'string' && found.written === undefined ? nameHint(found.value) : undefined
  if (key === 'drop') {
    const text = found.source ?? plainText(found) ?? ''
    return YES.test(text) ? 'write true' : NO.test(text) ? 'write false' : undefined
  }
  if (key === 'when' && found.items)
    return 'the conditions of a rule are one map, and all must hold; for "one or the other" write two rules'
  if (key === 'when' && !found.entries)
    return 'write conditions, such as when: { kind: Event, type: Warning }'
  return undefined
}

function selectorHint(key: string, found: Located): string {
  const texts = (found.items ?? []).map(({ value }) => value)
  const isShown = found.secrets.length === 0 && texts.every((text) => typeof text === 'string')
  return `write one text: ${key}: "${isShown ? texts.join(',') : 'team=a,tier=b'}"`
}

/** A map of keys and values as a selector. */
function mapHint(key: string, found: Located): string {
  const pairs = [...(found.entries ?? [])].map(([name, { value }]) => [name, plainText(value)] as const)
  const isShown = pairs.length > 0 && pairs.every(([, value]) => value !== undefined)
  const example = key === 'labels' ? 'team=a,tier=b' : 'spec.nodeName=worker-1'
  return `write one text: ${key}: "${isShown ? pairs.map((pair) => pair.join('=')).join(',') : example}"`
}

/** What is nearest to a text among the names that are allowed: `warn-events` for `Warn_Events`. */
export function nameHint(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return name === '' || name === text || name.length > 63 ? undefined : `write ${name}`
}

/** A word that stands so in the file, and may be shown: no secret looks like it. */
function plainText({ value, written }: Located): string | undefined {
  if (typeof value !== 'string' || written !== undefined) return undefined
  return /^[A-Za-z0-9][A-Za-z0-9./-]{0,62}$/.test(value) ? value : undefined
}
