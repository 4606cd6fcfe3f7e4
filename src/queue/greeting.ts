import type { Redis } from 'ioredis'

/**
 * ioredis: after a refused SELECT it goes on in database 0, which is somebody else's. What harms nothing it prints. While Redis
 * loads its data it waits without an event or a limit; with `refuseLoading` the connection fails then.
 */
export function greetStrictly(redis: Redis, refuseLoading = false): Redis {
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
    info: (...args: unknown[]) => info?.apply(redis, quietly(args, refuseLoading)),
    duplicate: (...args: unknown[]) =>
      greetStrictly((duplicate as unknown as Duplicate).apply(redis, args), refuseLoading),
  })
}

type Send = (...args: unknown[]) => Promise<unknown>
type Duplicate = (...args: unknown[]) => Redis
type Callback = (error: Error | null, text?: string) => void

/** Only ioredis asks with a callback: it looks whether Redis is ready, which one that does not tell has to be. */
function quietly(args: unknown[], refuseLoading: boolean): unknown[] {
  const callback = args.at(-1) as Callback
  if (typeof callback !== 'function') return args
  const checked: Callback = (error, text) => {
    if (error?.message.startsWith('NOPERM')) return callback(null, '')
    const isLoading = refuseLoading && /^loading:1\b/m.test(text ?? '')
    return isLoading ? callback(new Error('LOADING Redis is loading its data')) : callback(error, text)
  }
  return [...args.slice(0, -1), checked]
}
