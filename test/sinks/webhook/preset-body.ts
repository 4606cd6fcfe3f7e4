import { configuredFor } from '../../../sinks/webhook/config.ts'
import { PRESETS } from '../../../sinks/webhook/presets/index.ts'
import { PRESET_NAMES, type PresetName } from '../../../sinks/webhook/presets/names.ts'
import type { Preset } from '../../../sinks/webhook/presets/preset.ts'
import { formatOf } from '../../../sinks/webhook/request.ts'
import type { Message } from '../../../src/sink/index.ts'

/** The code of all presets. */
export const loadedPresets = Object.fromEntries(
  await Promise.all(PRESET_NAMES.map(async (name) => [name, await PRESETS[name].load()] as const)),
) as Record<PresetName, Preset>

/** Options that a preset must have. */
const NEEDED = {
  routingKey: 'R0UTINGKEY',
  apiKey: 'AP1KEY',
  token: 'T0KEN',
  chatId: '-1001234567890',
  topic: 'kubernetes',
  room: '!ops:example.com',
} as const

export function neededOptions(name: PresetName): Record<string, unknown> {
  const { needs = [] } = PRESETS[name]
  return Object.fromEntries(needs.map((key) => [key, NEEDED[key as keyof typeof NEEDED]]))
}

/** When the bodies are made. */
export const MADE_MS = Date.parse('2025-06-15T15:10:00Z')

/** What a request with this one message has as its body. */
export async function bodyOf(name: PresetName, message: Message, options: object = {}): Promise<string> {
  const url = PRESETS[name].knowsUrl ? {} : { url: 'https://example.com/api/v2/alerts' }
  const config = await configuredFor(name).parseAsync({ ...url, ...neededOptions(name), ...options })
  const format = formatOf(config, { now: () => MADE_MS })
  const { body } = format.batch ? format.batch.body([format.batch.item(message)]) : format.write(message)
  if (!format.batch) expectWithin(body.length, (config.service as Preset).maxBytes)
  return body.toString()
}

function expectWithin(bytes: number, most: number): void {
  if (bytes > most) throw new Error(`the body has ${bytes} bytes, and may have ${most}`)
}
