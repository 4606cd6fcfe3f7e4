import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** Something on its way to the server that was stopped. */
export interface Held {
  /** Settles when it is there. */
  readonly seen: Promise<void>
  /** Lets it go on to the server, also when the client is gone. */
  release(): void
}

export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** Cuts all connections. */
  cut(): void
  /** From now on nothing comes through the connections that are open, either way, and nothing ends them. */
  freeze(): void
  /** What servers send takes so much longer from now on. */
  delayAnswers(ms: number): void
  /** Connections that come from now on lead to this port. */
  retarget(port: number): void
  /** The next data that hold `text` reach the server, and the client is cut off before the answer. */
  cutAfter(text: string): void
  /** The next data that hold `text` stay on their way. With `cut` the client loses its connection meanwhile. */
  hold(text: string, options?: { cut?: boolean }): Held
}

interface Trap {
  text: string
  spring(forward: () => void, client: Socket, server: Socket): void
}

/** A loopback proxy in front of a server, for faults of the network. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const traps: Trap[] = []
  const sockets = new Set<Socket>()
  const frozen = new Set<Socket>()
  let towards = target
  let delayMs = 0

  const proxy = createServer((client) => {
    const server = connect(towards, '127.0.0.1')
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        if (!held.has(other) && !frozen.has(other)) other.destroy()
      })
    }
    server.on('data', (data) => {
      if (frozen.has(server)) return
      if (delayMs > 0) setTimeout(() => client.write(data), delayMs)
      else client.write(data)
    })
    client.on('data', (data) => {
      if (frozen.has(client)) return
      const forward = () => void server.write(data)
      const trap = traps.find(({ text }) => data.includes(text))
      if (!trap) return forward()
      traps.splice(traps.indexOf(trap), 1)
      trap.spring(forward, client, server)
    })
  })
  /** Server sides that outlive their clients, as a socket with unread data does. */
  const held = new Set<Socket>()
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as { port: number }

  return {
    port,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    freeze: () => {
      for (const socket of sockets) frozen.add(socket)
    },
    delayAnswers: (ms) => {
      delayMs = ms
    },
    retarget: (port) => {
      towards = port
    },
    cutAfter(text) {
      traps.push({
        text,
        spring(forward, client, server) {
          server.removeAllListeners('data')
          server.once('data', () => client.destroy())
          forward()
        },
      })
    },
    hold(text, { cut = false } = {}) {
      const { promise, resolve } = Promise.withResolvers<() => void>()
      traps.push({
        text,
        spring(forward, client, server) {
          if (cut) {
            held.add(server)
            client.destroy()
          }
          resolve(forward)
        },
      })
      return { seen: promise.then(() => {}), release: () => void promise.then((forward) => forward()) }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
      await once(proxy, 'close')
    },
  }
}
