import type { Summary } from '../../sink/index.ts'
import { clause, finish } from './phrasing.ts'
import { field, type SummaryInput, text } from './summarizer.ts'

/** Summarizes a report of kubeherald about itself: its message is the title. */
export function summarizeOwnReport({ event }: SummaryInput, notice: SummaryInput['notice']): Summary {
  const kubeEvent = event.event
  const [name, message] = [text(kubeEvent, 'regarding', 'name'), text(kubeEvent, 'message')]
  const isFailure = text(kubeEvent, 'type') === 'Warning'
  const report = clause(message, MAX_TITLE)
  const title = `kubeherald: ${report.slice(0, 1).toLowerCase()}${report.slice(1)}`
  const severity = notice?.kind === 'resolved' ? 'resolved' : isFailure ? 'error' : 'info'
  return finish(
    { apiVersion: '', kind: 'Kubeherald', namespace: event.namespace ?? '', name },
    {
      severity,
      phrase: '',
      title,
      quote: message.length > MAX_TITLE ? message : '',
      fields: [field('Reason', text(kubeEvent, 'reason'))],
    },
    [],
    isFailure ? 'kubeherald status' : '',
  )
}

const MAX_TITLE = 160
