import * as z from 'zod'

export const StdoutConfig = z.strictObject({
  format: z
    .enum(['auto', 'json', 'text', 'message'])
    .default('auto')
    .meta({ description: 'auto (text on a terminal, else JSON), json, text, or message: what chats show.' }),
})
export type StdoutConfig = z.output<typeof StdoutConfig>
