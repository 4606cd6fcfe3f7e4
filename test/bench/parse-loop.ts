import { request } from 'undici'

/** The yardstick: reads, splits and parses the stream of a feed, and does nothing else. Prints the seconds it took. */
const [url = '', countText = '0'] = process.argv.slice(2)
const count = Number(countText)
const { body } = await request(`${url}/api/v1/pods?watch=true&resourceVersion=1000000`)
const startedMs = performance.now()
let seen = 0
let rest: Buffer[] = []
for await (const chunk of body as AsyncIterable<Buffer>) {
  let start = 0
  for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
    const line =
      rest.length === 0 ? chunk.subarray(start, end) : Buffer.concat([...rest, chunk.subarray(start, end)])
    rest = []
    start = end + 1
    if ((JSON.parse(line.toString()) as { type: string }).type) seen++
  }
  if (start < chunk.length) rest.push(chunk.subarray(start))
  if (seen >= count) break
}
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000 }))
process.exit(0)
