import type { Interpolation } from '../../config/interpolate.ts'
import type { Located } from '../../config/located.ts'

const REFERENCE = /^\$\{(env|file):([^}]+)\}$/

/** Values for references that lead nowhere here, such that the file can be read all the same. */
export function standIns(
  root: Located | undefined,
  { env, readFile }: Pick<Interpolation, 'env' | 'readFile'>,
): Pick<Interpolation, 'env' | 'readFile'> {
  const values = new Map<string, string>()
  const typeOf = (sink: unknown) =>
    root?.entries?.get('sinks')?.value.entries?.get(String(sink))?.value.entries
  for (const { path, written } of referencesIn(root, [])) {
    const type = path[0] === 'sinks' ? typeOf(path[1])?.get('type')?.value.value : undefined
    values.set(written, standInFor(path, type))
  }
  const added: NodeJS.ProcessEnv = {}
  for (const [written, value] of values) {
    const [, source, name = ''] = REFERENCE.exec(written) ?? []
    if (source === 'env') added[name] = value
  }
  return {
    env: { ...added, ...env },
    readFile(path) {
      try {
        return readFile(path)
      } catch (error) {
        const value = [...values].find(([written]) => path.endsWith(written.slice('${file:'.length, -1)))?.[1]
        if (value === undefined || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
        return value
      }
    },
  }
}

function* referencesIn(
  at: Located | undefined,
  path: readonly string[],
): Generator<{ path: readonly string[]; written: string }> {
  if (!at) return
  if (at.written !== undefined && REFERENCE.test(at.written)) yield { path, written: at.written }
  for (const [key, { value }] of at.entries ?? []) yield* referencesIn(value, [...path, key])
  for (const [index, item] of (at.items ?? []).entries()) yield* referencesIn(item, [...path, String(index)])
}

/** What is taken at this place; nothing is ever sent there. */
function standInFor(path: readonly string[], sinkType: unknown): string {
  const key = path.findLast((step) => !/^\d+$/.test(step)) ?? ''
  if (path[0] === 'redis' && key === 'url') return 'redis://stand-in.invalid:6379'
  if (path[0] === 'cluster') return 'stand-in'
  if (path[0] === 'server' && key === 'port') return '0'
  if (/url$/i.test(key)) return 'https://stand-in.invalid/stand-in-for-a-url'
  if (key === 'brokers') return 'stand-in.invalid:9092'
  if (key === 'path') return '/stand-in'
  if (sinkType === 'slack') return key === 'token' ? 'xoxb-stand-in-stand-in' : '#stand-in'
  if (key === 'secret') return `whsec_${Buffer.alloc(32).toString('base64')}`
  return STAND_IN
}

const STAND_IN = 'stand-in'
