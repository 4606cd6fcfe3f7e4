import { sseReader } from '../../src/observe/page/data/sse.ts'
import { CALLERS, tokenOf } from './callers.ts'

// A process of its own: what the page asks for while its live view is open. Argument: the address. Prints a line when the stream is open.
const [base = ''] = process.argv.slice(2)
/** As the page has them: src/observe/page/shell.tsx, data/live.ts. */
const OVERVIEW_MS = 3_000
const MOST_PER_FRAME = 1_000
const FRAME_MS = 16
const headers = { authorization: `Bearer ${tokenOf(CALLERS[0])}` }

async function text(path: string): Promise<string> {
  const response = await fetch(base + path, { headers })
  if (!response.ok) throw new Error(`${path}: ${response.status}`)
  return response.text()
}

const html = await text('/live')
const assets = [...html.matchAll(/(?:href|src)="([^":]+)"/g)].map(
  ([, path = '']) => new URL(path, `${base}/live`),
)
for (const { pathname } of assets) await text(pathname)
await Promise.all([text('/api/v1/access'), text('/api/v1/overview')])
setInterval(() => void text('/api/v1/overview').catch(() => {}), OVERVIEW_MS)

const { body } = await fetch(`${base}/api/v1/stream`, {
  headers: { ...headers, accept: 'text/event-stream' },
})
if (!body) throw new Error('there is no stream')
console.log('open')
process.on('disconnect', () => process.exit(0))
const messagesOf = sseReader()
let waiting: string[] = []
setInterval(() => {
  for (const data of waiting.slice(-MOST_PER_FRAME)) JSON.parse(data)
  waiting = []
}, FRAME_MS)
try {
  for await (const piece of body.pipeThrough(new TextDecoderStream()))
    waiting.push(...messagesOf(piece).flatMap(({ data }) => data ?? []))
} catch {
  // The end of the program ends the stream.
}
