import MailComposer from 'nodemailer/lib/mail-composer'
import type { Message, Severity } from '../../src/sink/index.ts'
import type { Mailbox } from './addresses.ts'
import type { Recipients } from './config.ts'
import { cut, oneLine, type Written } from './format.ts'

/** The headers of a mail that are not its text's. */
interface Headers {
  from: Mailbox
  replyTo?: Mailbox | undefined
  recipients: Recipients
  /** One line. */
  subject: string
  /** `<…@example.com>` */
  messageId: string
  /** Message-ID of the first mail of the thread; undefined for the first itself. */
  root: string | undefined
  userAgent: string
  dateMs: number
}

const PRIORITIES: Readonly<Partial<Record<Severity, string>>> = { error: 'high' }
const MAX_HEADER = 500

/** Returns the bytes of a mail: multipart/alternative with plain text and HTML (RFC 2046 §5.1.4). */
export function composeMail(message: Message, headers: Headers, { text, html }: Written): Promise<Buffer> {
  const { from, replyTo, recipients, subject, messageId, root, userAgent, dateMs } = headers
  const importance = PRIORITIES[message.content.severity]
  const mail = new MailComposer({
    from: addressee(from),
    to: recipients.to.map(addressee),
    ...(recipients.cc.length > 0 && { cc: recipients.cc.map(addressee) }),
    ...(replyTo && { replyTo: addressee(replyTo) }),
    subject,
    messageId,
    ...(root !== undefined && { inReplyTo: root, references: root }),
    date: new Date(dateMs),
    text,
    html,
    headers: {
      // RFC 3834 §5, and Exchange's own: no out-of-office replies.
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      ...(importance && { Importance: importance }),
      'User-Agent': userAgent,
      'X-Kubeherald-Id': headerText(message.id),
      'X-Kubeherald-Cluster': headerText(message.event.cluster),
      'X-Kubeherald-Rule': headerText(message.rule),
      'X-Kubeherald-Severity': message.content.severity,
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return mail.compile().build()
}

/** nodemailer encodes what is not ASCII; a line break is gone already. */
function headerText(text: string): string {
  return cut(oneLine(text.slice(0, 2 * MAX_HEADER)), MAX_HEADER)
}

function addressee({ name, address }: Mailbox) {
  return { name, address }
}
