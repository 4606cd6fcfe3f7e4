import { presetType } from '../../../../sinks/webhook/index.ts'
import type { PresetName } from '../../../../sinks/webhook/presets/names.ts'
import type { Answer, ReceivedRequest, Receiver } from '../../../servers/receiver.ts'
import { messageOf, openSink } from '../../bed.ts'

/** Alertmanager alone checks the path of its address. */
export function addressOf(url: string, { name }: Service): string {
  const { origin } = new URL(url)
  return name === 'alertmanager' ? `${origin}/api/v2/alerts` : origin
}

/** A fake of a service: it refuses what the real one refuses. */
export interface Service {
  name: PresetName
  /** Options in addition to `url`. */
  options: object
  /** Credentials that the service refuses, and what it answers to them. */
  wrong: { options: object; status: number; body?: string }
  answer(request: ReceivedRequest): Answer
  /** Forgets what it took. */
  forget?(): void
  /** The answer to a message that it can never take; by default a 400. */
  refusal?: Answer
  /** The answer of a service that takes too many messages. */
  throttled: Answer
}

/** Opens a sink of this type at a receiver that answers as the service. */
export async function openAt(service: Service, hook: Receiver, options: object = service.options) {
  hook.answer(service.answer)
  return openSink(await presetType(service.name), { url: addressOf(hook.url, service), ...options })
}

export const named = (count: number, objects = count, attempt = 0) =>
  Array.from({ length: count }, (_, i) => messageOf({ name: `o${i % objects}`, version: String(i), attempt }))

export function jsonIn(body: string): any {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

export function json(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
}

export function bytesOf(text: string): number {
  return Buffer.byteLength(text)
}

/** A few keys of a map must be texts of at most so many characters. */
export function textFault(value: any, limits: Readonly<Record<string, number>>): string | undefined {
  for (const [key, most] of Object.entries(limits)) {
    const text = value?.[key]
    if (text === undefined) continue
    if (typeof text !== 'string') return `${key} is not text`
    if (text.length > most) return `${key} is too long: ${text.length} > ${most}`
  }
  return undefined
}

/** Some services answer 200 to everything, and have the result in the body. */
export function isAccepted({ status = 200, body = '', hang, reset }: Answer): boolean {
  if (hang || reset || status >= 300) return false
  const { code = 0, errcode = 0, ok = true } = jsonIn(body) ?? {}
  return code === 0 && errcode === 0 && ok
}
