import * as z from 'zod'

export const StdoutConfig = z.strictObject({
  /** `json`: a CloudEvent a line; `text`: a line for people; `auto`: text on a terminal. */
  format: z.enum(['auto', 'json', 'text']).default('auto'),
})
export type StdoutConfig = z.output<typeof StdoutConfig>
