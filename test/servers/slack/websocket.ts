import { createHash } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const TEXT = 1
const CLOSE = 8
const PING = 9
const PONG = 10

/** The server's side of a WebSocket (RFC 6455), for small messages of text: `text`, `pong` and `end`. */
export class ServerSocket extends EventEmitter {
  readonly #socket: Duplex
  #buffer = Buffer.alloc(0)

  constructor({ headers }: IncomingMessage, socket: Duplex) {
    super()
    this.#socket = socket
    const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${GUID}`).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', () => {})
    socket.on('close', () => this.emit('end'))
  }

  send(text: string): void {
    this.#frame(TEXT, Buffer.from(text))
  }

  ping(): void {
    this.#frame(PING, Buffer.from('ping'))
  }

  /** Cuts the connection, without a word. */
  cut(): void {
    this.#socket.destroy()
  }

  async ended(): Promise<void> {
    if (!this.#socket.destroyed) await once(this, 'end')
  }

  #frame(opcode: number, data: Buffer): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return
    const length =
      data.length < 126
        ? [data.length]
        : data.length < 65_536
          ? [126, data.length >> 8, data.length & 255]
          : undefined
    if (!length) throw new Error('larger than a message of Slack')
    this.#socket.write(Buffer.concat([Buffer.from([0x80 | opcode, ...length]), data]))
  }

  #read(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk])
    for (;;) {
      const [first, second] = this.#buffer
      if (first === undefined || second === undefined) return
      // A client masks all that it sends.
      if ((second & 0x80) === 0) return this.cut()
      const short = second & 127
      const head = short < 126 ? 2 : 4
      if (this.#buffer.length < head + 4) return
      const length = short < 126 ? short : this.#buffer.readUInt16BE(2)
      const end = head + 4 + length
      if (short === 127 || this.#buffer.length < end) return
      const mask = this.#buffer.subarray(head, head + 4)
      const data = this.#buffer.subarray(head + 4, end).map((byte, i) => byte ^ (mask[i % 4] as number))
      this.#buffer = this.#buffer.subarray(end)
      this.#received(first & 15, Buffer.from(data))
    }
  }

  #received(opcode: number, data: Buffer): void {
    if (opcode === TEXT) this.emit('text', data.toString())
    else if (opcode === PING) this.#frame(PONG, data)
    else if (opcode === PONG) this.emit('pong')
    else if (opcode === CLOSE) {
      this.#frame(CLOSE, data)
      this.#socket.end()
    }
  }
}
