import { request } from 'undici'
import { createMask, type Mask } from '../../src/sink/index.ts'

/** There is no token: the reason, without secrets. */
export class TokenFault extends Error {
  override name = 'TokenFault'
}

export interface ClientCredentials {
  tokenUrl: string
  clientId: string
  clientSecret: string
  scope?: string | undefined
}

const LIMIT_MS = 5_000
const MAX_BYTES = 64 * 1024
/** A token is used for so much of its life. */
const SHARE_OF_LIFE = 0.8
const DEFAULT_LIFE_S = 300

/** Gets tokens with client credentials (RFC 6749 §4.4), and keeps one for 80 % of its life. */
export function createTokenSource(
  credentials: ClientCredentials,
  { mask, clock, userAgent }: { mask: Mask; clock: { now(): number }; userAgent: string },
): () => Promise<string> {
  let kept: { token: string; untilMs: number } | undefined
  let asking: Promise<string> | undefined

  async function ask(): Promise<string> {
    const { token, lifeS } = await fetchToken(credentials, mask, userAgent)
    kept = { token, untilMs: clock.now() + lifeS * 1_000 * SHARE_OF_LIFE }
    return token
  }

  return () => {
    if (kept && clock.now() < kept.untilMs) return Promise.resolve(kept.token)
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }
}

async function fetchToken(
  { tokenUrl, clientId, clientSecret, scope }: ClientCredentials,
  mask: Mask,
  userAgent: string,
) {
  const host = new URL(tokenUrl).host
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`
  const basic = Buffer.from(pair).toString('base64')
  // Whoever repeats what it got repeats it as it was sent.
  const asSent = createMask([basic])
  const told = (text: string) => mask(asSent(text)).slice(0, 300)
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) })
  try {
    const answer = await request(tokenUrl, {
      method: 'POST',
      headers: {
        authorization: `Basic ${basic}`,
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        'user-agent': userAgent,
      },
      body: form.toString(),
      signal: AbortSignal.timeout(LIMIT_MS),
    })
    const text = await readText(answer.body)
    if (answer.statusCode !== 200)
      throw new TokenFault(`the token server ${host} answered ${answer.statusCode}: ${told(text)}`)
    const { access_token: token, expires_in: lifeS } = parsed(text)
    if (typeof token !== 'string' || token === '')
      throw new TokenFault(`the token server ${host} sent no access_token`)
    return { token, lifeS: Number(lifeS) > 0 ? Number(lifeS) : DEFAULT_LIFE_S }
  } catch (error) {
    if (error instanceof TokenFault) throw error
    throw new TokenFault(`the token server ${host} gave no token: ${told(String((error as Error).message))}`)
  }
}

/** What it sent may be the token itself: it is not told when it is no JSON. */
function parsed(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, MAX_BYTES)
}
