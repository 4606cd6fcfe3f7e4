import type { Config } from './config/schema.ts'
import type { BytesBound } from './queue/requirements.ts'

/** The bounds in bytes that a configuration gives itself, each with its place in the file. */
export function boundsOf({ sinks, deadLetters, placeOf }: Config): BytesBound[] {
  const bound = (path: readonly string[], bytes: number | undefined): BytesBound[] => {
    if (bytes === undefined) return []
    const place = placeOf?.(path)
    return [{ name: `${place === undefined ? '' : `${place} `}${path.join('.')}`, bytes }]
  }
  return [
    ...sinks.flatMap(({ name, queue }) => bound(['sinks', name, 'queue', 'maxBytes'], queue?.maxBytes)),
    ...bound(['deadLetters', 'maxBytes'], deadLetters?.maxBytes),
  ]
}
