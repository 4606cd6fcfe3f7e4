import { connect as connectTcp, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { AbstractConnector } from 'ioredis'
import type { TlsOptions } from '../sink/index.ts'
import type { MasterFollower } from './follow-master.ts'
import type { HostPort } from './redis-target.ts'
import { NO_TLS, tlsOptionsOf } from './tls.ts'

export interface ConnectorParts {
  /** Finds the master, where it has no address of its own. */
  follower?: MasterFollower | undefined
  /** Read for each connection: certificates may have been exchanged. */
  tls(): true | TlsOptions | undefined
  /** Gives up when the master cannot be found. */
  once: boolean
}

/** What a connector reads of the options of its connection. */
interface Options {
  host?: string
  port?: number
  path?: string
  family?: number
  connectTimeout?: number
  disconnectTimeout: number
}

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 1_000
/** A little less than what the connection gives it: so the reason is told. */
const TLS_SHARE = 0.9

/** What ioredis calls to open a connection, each time anew; made for one target. */
export function connectorFor({ follower, tls, once }: ConnectorParts) {
  return class extends AbstractConnector {
    readonly #options: Options
    #emit: (type: string, error: Error) => void = () => {}
    /** The connection that is being closed. */
    #ended: Duplex | undefined

    constructor(options: unknown) {
      super((options as Options).disconnectTimeout)
      this.#options = options as Options
    }

    override async connect(emit: (type: string, error: Error) => void): Promise<Socket | TLSSocket> {
      this.connecting = true
      this.#emit = emit
      const { path, family } = this.#options
      if (path) return this.#open(connectTcp({ path }))
      const at = follower ? await this.#findMaster(follower) : this.#fixed()
      const secure = tls()
      const where = { ...at, ...(family && { family }) }
      const stream = secure ? this.#openTls(secure, where) : connectTcp(where)
      follower?.leaveWhenMoved(stream, at)
      return this.#open(stream)
    }

    /** Each reply that asks for another connection calls it, and each call of the library's adds a timer and a listener. */
    override disconnect(): void {
      const { stream } = this
      this.connecting = false
      if (stream && stream === this.#ended) return
      this.#ended = stream
      super.disconnect()
    }

    /** What Sentinels and Clusters call a master may be one no longer. */
    override check({ role }: { role?: string }): boolean {
      if (!follower || !role || role === 'master') return true
      this.#emit('error', new Error('the one that should be the master is a replica'))
      return false
    }

    #fixed(): HostPort {
      const { host = 'localhost', port = 6_379 } = this.#options
      return { host, port }
    }

    async #findMaster({ locate }: MasterFollower): Promise<HostPort> {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
        let fault: Error | undefined
        const at = await locate().catch((error: Error) => {
          fault = error
        })
        if (!this.connecting) throw new Error('Connection is closed.')
        if (at) return at
        // A connector that throws is never asked again.
        if (once) throw fault
        this.#emit('error', fault as Error)
        await pause(pauseMs)
      }
    }

    /** A port that speaks no TLS often just waits for more. */
    #openTls(secure: true | TlsOptions, at: HostPort): TLSSocket {
      const stream = connectTls({ ...at, ...tlsOptionsOf(secure, at.host) })
      stream.once('connect', () => {
        const limitMs = (this.#options.connectTimeout ?? 10_000) * TLS_SHARE
        const limit = setTimeout(() => stream.destroy(new Error(NO_TLS)), limitMs)
        for (const end of ['secureConnect', 'close']) stream.once(end, () => clearTimeout(limit))
      })
      return stream
    }

    #open<T extends Socket | TLSSocket>(stream: T): T {
      this.stream = stream
      stream.once('error', (error) => {
        this.firstError = error
      })
      return stream
    }
  }
}
