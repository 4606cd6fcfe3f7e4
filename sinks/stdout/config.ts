import * as z from 'zod'

export const StdoutConfig = z.strictObject({
  /** `json`: a CloudEvent a line; `text`: a line for people; `message`: what chats show; `auto`: text on a terminal. */
  format: z.enum(['auto', 'json', 'text', 'message']).default('auto'),
})
export type StdoutConfig = z.output<typeof StdoutConfig>
