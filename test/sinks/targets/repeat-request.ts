import type { Answer, ReceivedRequest } from '../../servers/receiver.ts'

/** A refusal that repeats whatever it got, so that a sink could leak its secrets by it. */
export function repeatRequest({ path, headers }: ReceivedRequest): Answer {
  return { status: 503, body: `no: ${path} ${JSON.stringify(headers)}`.slice(0, 2_000) }
}
