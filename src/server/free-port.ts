import { once } from 'node:events'
import { createServer } from 'node:net'

/** The port if nobody listens there, else 0: any free one. */
export async function freePort({ host, port }: { host: string; port: number }): Promise<number> {
  const server = createServer()
  server.listen(port, host)
  try {
    await once(server, 'listening')
    return port
  } catch {
    return 0
  } finally {
    server.close()
  }
}
