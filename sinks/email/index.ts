import { defineSink, groupByOf, TemplateFault } from '../../src/sink/index.ts'
import { addressesOf, checkRoute, EmailConfig, EmailRoute, recipientsOf, targetOf } from './config.ts'
import { inCode, inHtml, plainOf, subjectOf, writeMail } from './format.ts'

/** For dry runs in which the variable of an address is missing. */
const ADDRESS = 'kubeherald-placeholder@kubeherald-placeholder.invalid'

/** Sends notifications as mail over SMTP: text and HTML, one thread for each object in trouble. */
export default defineSink<EmailConfig, EmailRoute>({
  apiVersion: 1,
  type: 'email',
  config: EmailConfig,
  route: EmailRoute,
  checkRoute,
  escape: inHtml,
  code: inCode,
  plain: plainOf,
  showsChanges: () => true,
  // A crash repeats a batch, so it is no larger than the number of sessions that there may be.
  maxBatch: 20,
  example: `{ type: email, host: smtp.example.com, auth: { user: kubeherald, password: "\${env:SMTP_PASSWORD}" }, from: kubeherald@example.com, to: oncall@example.com }`,
  placeholders: { from: ADDRESS, to: ADDRESS, cc: ADDRESS, replyTo: ADDRESS, fallbackTo: ADDRESS },
  preview(message, config) {
    const found = recipientsOf(message, config)
    if (!found.ok) throw new TemplateFault(found.detail)
    const { text } = writeMail(message)
    const subject = subjectOf(message, config.subject)
    const { to, cc } = found.recipients
    const groupBy = groupByOf(message, config.groupBy)
    const textOf = (list: typeof to) => list.map(({ address }) => address).join(', ')
    return {
      options: { to: textOf(to), cc: textOf(cc), subject, ...(groupBy !== undefined && { groupBy }) },
      target: `mail to ${addressesOf(found.recipients).join(', ')}`,
      body: `Subject: ${subject}\n\n${text}`,
    }
  },
  lane: targetOf,
  open: async (config, context) => (await import('./open.ts')).openEmail(config, context),
})
