import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '../wait-for.ts'
import { createAuthority } from './certificates.ts'
import { freePort } from './ports.ts'
import { startProgram } from './process.ts'

/** Exim on loopback, with TLS, users and mailboxes of its own. */
export interface Exim extends AsyncDisposable {
  /** STARTTLS; only users who signed in may write to other domains than example.com. */
  readonly port: number
  /** TLS from the start. */
  readonly implicitPort: number
  /** The authority of its certificate. */
  readonly ca: string
  /** The mails of a mailbox, in no order. */
  mailbox(name: string): string[]
}

/** alice, bob, carol and `team` have mailboxes; `full` has no room now; there is nobody else. */
const MAILBOXES = ['alice', 'bob', 'carol', 'team']
export const USER = { user: 'herald', password: 'a-secret-of-herald' }
export const MAX_BYTES = 60_000
/** Not root: Exim refuses that. */
const NOBODY = 65_534

/** Where the set-up unpacks it. */
function eximFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'kubeherald', 'exim')
}

export function missingForExim(): string | undefined {
  return existsSync(join(eximFolder(), 'usr', 'sbin', 'exim4')) ? undefined : 'exim4 (apt-get download)'
}

/** Exim runs as this user, or as nobody if that is root. nss_wrapper names it as the package wants it. */
export async function startExim(): Promise<Exim> {
  const dir = mkdtempSync(join(tmpdir(), 'kubeherald-exim-'))
  const lib = join(dir, 'lib')
  const program = join(dir, 'exim4')
  const folder = join(eximFolder(), 'usr', 'lib')
  const architecture = readdirSync(folder).find((it) => it.endsWith('-linux-gnu')) ?? ''
  // The cache folder of root is closed to nobody.
  mkdirSync(lib)
  for (const name of readdirSync(join(folder, architecture)).filter((it) => it.includes('.so')))
    copyFileSync(join(folder, architecture, name), join(lib, name))
  copyFileSync(join(eximFolder(), 'usr', 'sbin', 'exim4'), program)
  const isRoot = process.getuid?.() === 0
  const [uid, gid] = isRoot ? [NOBODY, NOBODY] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
  const authority = createAuthority('exim')
  const { cert, key } = authority.issue('mail.example.com')
  const [port, implicitPort] = [await freePort(), await freePort()]
  mkdirSync(join(dir, 'mail'))
  const files = {
    'cert.pem': cert,
    'key.pem': key,
    passwd: `Debian-exim:x:${uid}:${gid}::/:/bin/sh\nroot:x:0:0::/:/bin/sh\n`,
    group: `Debian-exim:x:${gid}:\nroot:x:0:\n`,
    'exim.conf': configuration({ dir, program, port, implicitPort }),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text)
  chmodSync(join(dir, 'exim.conf'), 0o644)
  if (isRoot)
    for (const name of ['', ...readdirSync(dir)])
      if (name !== 'exim.conf') chownSync(join(dir, name), uid, gid)
  const exim = startProgram(program, ['-C', join(dir, 'exim.conf'), '-bdf', '-q30m'], {
    cwd: dir,
    ...(isRoot && { uid, gid }),
    env: {
      LD_LIBRARY_PATH: lib,
      LD_PRELOAD: join(lib, 'libnss_wrapper.so'),
      NSS_WRAPPER_PASSWD: join(dir, 'passwd'),
      NSS_WRAPPER_GROUP: join(dir, 'group'),
    },
  })
  const log = () => (existsSync(join(dir, 'mainlog')) ? readFileSync(join(dir, 'mainlog'), 'utf8') : '')
  await waitFor(() => exim.ended() || log().includes('listening for'), { what: 'Exim to listen' })
  if (exim.ended()) {
    rmSync(dir, { recursive: true, force: true })
    throw new Error(`Exim ended: ${exim.output()}`)
  }
  return {
    port,
    implicitPort,
    ca: authority.cert,
    mailbox(name) {
      const box = join(dir, 'mail', name, 'new')
      return existsSync(box) ? readdirSync(box).map((it) => readFileSync(join(box, it), 'utf8')) : []
    },
    async [Symbol.asyncDispose]() {
      await exim.end('SIGKILL')
      // A delivery that is under way writes once more.
      rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
    },
  }
}

interface Places {
  dir: string
  program: string
  port: number
  implicitPort: number
}

function configuration({ dir, program, port, implicitPort }: Places): string {
  return `
exim_path = ${program}
spool_directory = ${dir}
log_file_path = ${dir}/%slog
pid_file_path = ${dir}/pid
primary_hostname = mail.example.com
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port} : ${implicitPort}
tls_on_connect_ports = ${implicitPort}
tls_advertise_hosts = *
tls_certificate = ${dir}/cert.pem
tls_privatekey = ${dir}/key.pem
auth_advertise_hosts = \${if eq{$tls_in_cipher}{}{}{*}}
keep_environment =
deliver_drop_privilege = true
never_users =
rfc1413_query_timeout = 0s
message_size_limit = ${MAX_BYTES}
smtp_accept_max_per_connection = 1000
acl_smtp_rcpt = recipient
begin acl
recipient:
  defer local_parts = full
        message = 452 4.2.2 the mailbox is full
  accept domains = example.com
         local_parts = ${MAILBOXES.join(' : ')}
  deny domains = example.com
       message = 550 5.1.1 there is no such user
  accept authenticated = *
         local_parts = ${MAILBOXES.join(' : ')}
  deny message = 550 5.7.1 relay not permitted
begin routers
boxes:
  driver = accept
  local_parts = ${MAILBOXES.join(' : ')}
  transport = box
begin transports
box:
  driver = appendfile
  directory = ${dir}/mail/$local_part_data
  maildir_format
  create_directory
begin retry
begin rewrite
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = \${if and{{eq{$auth2}{${USER.user}}}{eq{$auth3}{${USER.password}}}}}
  server_set_id = $auth2
`
}
