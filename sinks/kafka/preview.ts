import { type Message, type Preview, TemplateFault } from '../../src/sink/index.ts'
import { addressed } from './addressed.ts'
import type { KafkaConfig, KafkaRoute } from './config.ts'
import { recordOf } from './record.ts'

/** The record that would be written, and to which topic. Throws a TemplateFault where it has none. */
export function preview(message: Message<KafkaRoute>, config: KafkaConfig): Preview {
  const place = addressed(message, config)
  if ('kind' in place) throw new TemplateFault('detail' in place ? place.detail : place.kind)
  const { value } = recordOf(message, place)
  return {
    target: `topic ${place.topic}, key ${place.key}`,
    body: value === null ? '(a tombstone: no value)' : value.toString(),
  }
}
