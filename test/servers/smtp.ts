import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** A mail that the server took. */
export interface TakenMail {
  from: string
  to: readonly string[]
  raw: string
  /** Over TLS. */
  secure: boolean
  /** Who had signed in. */
  user: string | undefined
}

/** What the server does instead of its answer to a command. */
export type SmtpAnswer = { answer: string } | { hang: true } | { cut: true } | { delayMs: number }

/** Steps of a session that a fault can be set for; `END` is the dot after the message. */
export type SmtpStep =
  | 'GREETING'
  | 'EHLO'
  | 'STARTTLS'
  | 'AUTH'
  | 'MAIL'
  | 'RCPT'
  | 'DATA'
  | 'END'
  | 'RSET'
  | 'TLS'

export interface SmtpOptions {
  /** Certificate and key; with them STARTTLS is offered. */
  tls?: { cert: string; key: string } | undefined
  /** TLS from the start. */
  implicit?: boolean
  /** Who may sign in; with it AUTH is required. */
  auth?: { user: string; password: string } | undefined
  /** The size that EHLO announces, and above which a message is refused. */
  maxBytes?: number
  /** Refuses messages above `maxBytes`, but announces nothing. */
  hidesSize?: boolean
  pipelining?: boolean
}

type Decide = (step: SmtpStep, argument: string, mail: Partial<TakenMail>) => SmtpAnswer | undefined

/** A mail server on loopback that holds clients to RFC 5321, and fails where a test wants it to. */
export interface FakeSmtp extends AsyncDisposable {
  readonly port: number
  readonly mails: TakenMail[]
  /** Every command, without credentials. */
  readonly commands: string[]
  /** Violations of the protocol. */
  readonly violations: string[]
  /** How many sessions are open. */
  sessions(): number
  readonly opened: number
  /** Decides the answers; undefined for those that are as usual. */
  onStep(decide: Decide | undefined): void
  /** Closes all connections. */
  cut(): void
}

export async function startSmtp(options: SmtpOptions = {}): Promise<FakeSmtp> {
  const { tls, implicit = false, auth, maxBytes, hidesSize = false, pipelining = true } = options
  const mails: TakenMail[] = []
  const commands: string[] = []
  const violations: string[] = []
  const sockets = new Set<Socket>()
  let decide: Decide | undefined
  let opened = 0

  function serve(plain: Socket): void {
    opened++
    sockets.add(plain)
    plain.once('close', () => sockets.delete(plain))
    plain.on('error', () => {})
    if (decide?.('TLS', '', {})) return
    if (implicit) upgrade(plain, (secure) => converse(secure, true, true))
    else converse(plain, false, true)
  }

  function upgrade(plain: Socket, ready: (secure: Socket) => void): void {
    const secure = new TLSSocket(plain, { isServer: true, ...tls })
    secure.on('error', () => plain.destroy())
    secure.once('secure', () => ready(secure))
  }

  function converse(socket: Socket, secure: boolean, greets: boolean): void {
    let pending = ''
    let inData = false
    let user: string | undefined
    let challenge: ((line: string) => void) | undefined
    let mail: { from?: string; to: string[] } = { to: [] }
    let upgraded = false
    const say = (answer: string): void => {
      socket.write(`${answer}\r\n`)
    }

    let isHandshake = false
    /** Does as the test wants, or as usual. */
    function step(name: SmtpStep, argument: string, usual: () => void): void {
      const wanted = decide?.(name, argument, mail)
      if (!wanted) return usual()
      if ('cut' in wanted) socket.destroy()
      if ('delayMs' in wanted) setTimeout(usual, wanted.delayMs)
      if ('answer' in wanted) {
        say(wanted.answer)
        if (wanted.answer.startsWith('421')) socket.end()
      }
    }

    function command(line: string): void {
      // A client that begins with TLS; its random bytes may end a line.
      isHandshake ||= line.startsWith('\x16\x03')
      if (isHandshake) return
      const [, verb = '', argument = ''] = /^(\S+) ?(.*)$/.exec(line) ?? []
      const name = verb.toUpperCase()
      commands.push(name === 'AUTH' ? 'AUTH' : line)
      if (line.length > 510) violations.push(`a command of ${line.length} characters`)
      if (/[^\x20-\x7e]/.test(line))
        violations.push(`a command with other characters: ${JSON.stringify(line)}`)
      switch (name) {
        case 'EHLO':
          return step('EHLO', argument, () => say(`250-fake\r\n${features().join('\r\n')}`))
        case 'STARTTLS':
          return step('STARTTLS', '', () => {
            if (!tls || secure) return say('502 5.5.1 not offered')
            upgraded = true
            socket.removeAllListeners('data')
            say('220 go ahead')
            upgrade(socket, (it) => converse(it, true, false))
          })
        case 'AUTH':
          return step('AUTH', '', () => authenticate(argument))
        case 'MAIL':
          return step('MAIL', argument, () => {
            if (auth && user === undefined) return say('530 5.7.0 Authentication required')
            if (mail.from !== undefined) violations.push('MAIL within a transaction')
            const size = Number(/ SIZE=(\d+)/.exec(argument)?.[1] ?? 0)
            if (maxBytes !== undefined && !hidesSize && size > maxBytes) return say('552 5.3.4 too large')
            mail = { from: /^FROM:<([^>]*)>/i.exec(argument)?.[1] ?? '', to: [] }
            say('250 2.1.0 ok')
          })
        case 'RCPT':
          if (mail.from === undefined) return say('503 5.5.1 MAIL first')
          return step('RCPT', /^TO:<([^>]*)>/i.exec(argument)?.[1] ?? '', () => {
            mail.to.push(/^TO:<([^>]*)>/i.exec(argument)?.[1] ?? '')
            say('250 2.1.5 ok')
          })
        case 'DATA':
          if (mail.to.length === 0) return say('554 5.5.1 no valid recipients')
          return step('DATA', '', () => {
            inData = true
            say('354 go ahead')
          })
        case 'RSET':
          return step('RSET', '', () => {
            mail = { to: [] }
            say('250 2.0.0 ok')
          })
        case 'QUIT':
          say('221 2.0.0 bye')
          return void socket.end()
        default:
          violations.push(`an unknown command: ${JSON.stringify(line.slice(0, 100))}`)
          return say('500 5.5.2 what?')
      }
    }

    function features(): string[] {
      const list = ['8BITMIME', 'ENHANCEDSTATUSCODES']
      if (pipelining) list.push('PIPELINING')
      if (maxBytes !== undefined && !hidesSize) list.push(`SIZE ${maxBytes}`)
      if (tls && !secure) list.push('STARTTLS')
      if (auth) list.push('AUTH PLAIN LOGIN')
      return list.map((it, i) => `250${i === list.length - 1 ? ' ' : '-'}${it}`)
    }

    function authenticate(argument: string): void {
      const [mechanism = '', initial] = argument.split(' ')
      if (mechanism.toUpperCase() !== 'PLAIN') return void say('504 5.5.4 PLAIN only')
      const check = (line: string) => {
        const [, name, password] = Buffer.from(line, 'base64').toString().split('\0')
        if (name !== auth?.user || password !== auth?.password) return say(`535 5.7.8 no: ${line}`)
        user = name
        return say('235 2.7.0 ok')
      }
      if (initial) return void check(initial)
      challenge = check
      say('334 ')
    }

    function message(raw: string): void {
      inData = false
      const taken = { from: mail.from ?? '', to: mail.to, raw, secure, user }
      for (const line of raw.split('\r\n')) {
        if (Buffer.byteLength(line) > 998) violations.push(`a line of ${line.length} characters`)
        if (/[\r\n]/.test(line)) violations.push('a bare CR or LF')
      }
      mail = { to: [] }
      if (maxBytes !== undefined && Buffer.byteLength(raw) > maxBytes) return void say('552 5.3.4 too large')
      const wanted = decide?.('END', raw, taken)
      const take = () => {
        mails.push(taken)
        say('250 2.0.0 queued')
      }
      if (!wanted) return take()
      if ('delayMs' in wanted) setTimeout(take, wanted.delayMs)
      // It was taken, and the answer is lost.
      if ('cut' in wanted) {
        mails.push(taken)
        socket.destroy()
      }
      if ('answer' in wanted) {
        say(wanted.answer)
        if (wanted.answer.startsWith('421')) socket.end()
      }
    }

    socket.on('data', (chunk: Buffer) => {
      pending += chunk.toString('latin1')
      while (!upgraded && !socket.destroyed) {
        if (inData) {
          const end = pending.startsWith('.\r\n') ? 0 : pending.indexOf('\r\n.\r\n')
          if (end < 0) return
          const bytes = pending.slice(0, end)
          pending = pending.slice(end + (end === 0 && pending.startsWith('.\r\n') ? 3 : 5))
          message(Buffer.from(bytes.replace(/^\./gm, ''), 'latin1').toString())
          continue
        }
        const end = pending.indexOf('\r\n')
        if (end < 0) return
        const line = pending.slice(0, end)
        pending = pending.slice(end + 2)
        if (challenge) {
          const answer = challenge
          challenge = undefined
          answer(line)
        } else command(line)
      }
    })
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    if (greets) step('GREETING', '', () => say('220 fake ESMTP'))
  }

  const server: Server = createServer({ noDelay: true }, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as { port: number }).port,
    mails,
    commands,
    violations,
    sessions: () => sockets.size,
    get opened() {
      return opened
    },
    onStep(next) {
      decide = next
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
