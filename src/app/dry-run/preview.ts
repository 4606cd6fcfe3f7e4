import { isMap } from '../../text/plain-data.ts'
import type { Config } from '../../config/schema.ts'
import type { Message, Preview } from '../../sink/index.ts'
import type { ConfigSnapshot } from '../config-snapshot.ts'

/** The preview of a message, with the path of the URL where that is written into the configuration. */
export function shownPreview(
  { snapshot }: { snapshot: Pick<ConfigSnapshot, 'config' | 'choices'> },
  message: Message,
  sink: string,
): Preview {
  const { path, options: _, ...preview } = snapshot.choices.preview(message, sink)
  const { target } = preview
  if (target === undefined || path === undefined || !hasLiteralUrl(snapshot.config, sink)) return preview
  return { ...preview, target: target + path }
}

/** Of a configuration that shows references as they are written. */
function hasLiteralUrl({ written }: Config, sink: string): boolean {
  const sinks = written?.['sinks']
  const section = isMap(sinks) ? sinks[sink] : undefined
  const url = isMap(section) ? section['url'] : undefined
  return typeof url === 'string' && !url.includes('${')
}
