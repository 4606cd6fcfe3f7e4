import * as z from 'zod'
import { Options } from './options/shape.ts'
import { checkTogether } from './options/together.ts'

/** Asked even when other options are wrong: nothing is left for a second round. */
const Together = z.check<Options>(({ value, issues }) => {
  if (value.url === undefined && value.preset !== 'pagerduty')
    issues.push({ code: 'custom', path: ['url'], message: 'is missing', input: undefined })
  checkTogether(value, (path, message) =>
    issues.push({ code: 'custom', path: [...path], message, input: value }),
  )
})

export const WebhookConfig = Options.check(Together)
export type WebhookConfig = z.output<typeof WebhookConfig>
