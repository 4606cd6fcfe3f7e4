import { request } from 'undici'

/** Numbers that are the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export const START_MS = Date.parse('2026-11-21T08:00:00Z')

export interface Answer {
  status: number
  type: string
  body: any
}

/** One request; a body that is not JSON is given as text. */
export async function get(url: string, accept = 'application/json', headers = {}): Promise<Answer> {
  const answer = await request(url, { headers: { accept, ...headers } })
  const text = await answer.body.text()
  const body = text.startsWith('{') ? JSON.parse(text.split('\n')[0] ?? '') : text.trim()
  return { status: answer.statusCode, type: String(answer.headers['content-type']), body }
}

export interface Frame {
  type: string
  object: any
}

/** Follows a watch until it is disposed. */
export async function watch(
  url: string,
  accept = 'application/json',
): Promise<AsyncDisposable & { frames: Frame[]; ended(): boolean }> {
  const { body } = await request(url, { headers: { accept } })
  const frames: Frame[] = []
  let rest = ''
  let ended = false
  body.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    frames.push(...lines.map((line) => JSON.parse(line) as Frame))
  })
  body.on('close', () => {
    ended = true
  })
  body.on('error', () => {})
  return {
    frames,
    ended: () => ended,
    async [Symbol.asyncDispose]() {
      body.destroy()
    },
  }
}
