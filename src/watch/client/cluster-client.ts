import type { Readable } from 'node:stream'

export type Headers = Record<string, string | string[] | undefined>

export interface ClusterResponse {
  status: number
  headers: Headers
  body: Buffer
}

export interface ClusterStream {
  status: number
  headers: Headers
  /** Decompressed as it comes. Destroy it when it is not read to its end. */
  body: Readable
}

export interface GetOptions {
  accept?: string
  ifNoneMatch?: string
  /** For the whole answer; default 60 s. */
  timeoutMs?: number
  /** Of the decompressed body; default 16 MiB. A longer one is a ClusterError. */
  maxBytes?: number
}

export interface SendOptions {
  /** For the whole answer; default 60 s. */
  timeoutMs?: number
}

export interface StreamOptions {
  accept?: string
  /** Until the headers come; default 30 s. */
  headersTimeoutMs?: number
  /** Between two parts of the body, while it is being read; default: none. Its length has no limit: its reader sets one. */
  bodyTimeoutMs?: number
  /** What it is counted as; default `watch`. */
  verb?: 'get' | 'watch'
}

/** Speaks to one API server, authenticated. Network faults are thrown; HTTP errors are answers. */
export interface ClusterClient {
  /** Without credentials, for people. */
  readonly url: string
  get(path: string, options: GetOptions, signal: AbortSignal): Promise<ClusterResponse>
  /** Writes, or asks by a POST: `body` goes as JSON. */
  send(
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    body: unknown,
    options: SendOptions,
    signal: AbortSignal,
  ): Promise<ClusterResponse>
  stream(path: string, options: StreamOptions, signal: AbortSignal): Promise<ClusterStream>
  /** Reads kubeconfig, tokens and certificates anew: after a 401. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/** No cluster, or one that cannot be asked; the message is for people. */
export class ClusterError extends Error {
  override name = 'ClusterError'
}

/** What the kubeconfig says of its user leads to nothing now; another kubeconfig may. */
export class NoCredentials extends ClusterError {}
