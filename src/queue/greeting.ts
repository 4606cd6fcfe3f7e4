import type { Redis } from 'ioredis'

/** ioredis: after a refused SELECT it goes on in database 0, which is somebody else's. What harms nothing it prints. */
export function greetStrictly(redis: Redis): Redis {
  const { auth, info, select, duplicate } = redis as unknown as Record<string, Send>
  return Object.assign(redis, {
    select: (...args: unknown[]) =>
      select?.apply(redis, args).catch((error: Error) => {
        redis.stream.destroy()
        throw error
      }),
    // A password that nobody asks for does no harm.
    auth: (...args: unknown[]) =>
      auth?.apply(redis, args).catch((error: Error) => {
        if (!/no password is set|without any password configured/.test(error.message)) throw error
      }),
    info: (...args: unknown[]) => info?.apply(redis, quietly(args)),
    duplicate: (...args: unknown[]) => greetStrictly((duplicate as unknown as Duplicate).apply(redis, args)),
  })
}

type Send = (...args: unknown[]) => Promise<unknown>
type Duplicate = (...args: unknown[]) => Redis
type Callback = (error: Error | null, text?: string) => void

/** Only ioredis asks with a callback: it looks whether Redis is ready, which one that does not tell has to be. */
function quietly(args: unknown[]): unknown[] {
  const callback = args.at(-1) as Callback
  if (typeof callback !== 'function') return args
  const told: Callback = (error, text) =>
    error?.message.startsWith('NOPERM') ? callback(null, '') : callback(error, text)
  return [...args.slice(0, -1), told]
}
