import { request } from 'undici'

// The yardstick of the line: reads, splits and parses the stream of a feed, and does nothing else. Arguments: the feed's
// URL, how many events. Prints the seconds that it took, and those of the processor.
const [url = '', countText = '0'] = process.argv.slice(2)
const count = Number(countText)
const startedMs = performance.now()
const startedCpu = process.cpuUsage()
const { body } = await request(`${url}/api/v1/pods?watch=true&resourceVersion=1000000`)
let seen = 0
let rest: Buffer[] = []
for await (const chunk of body as AsyncIterable<Buffer>) {
  let start = 0
  for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
    const part = chunk.subarray(start, end)
    const line = rest.length === 0 ? part : Buffer.concat([...rest, part])
    rest = []
    start = end + 1
    if ((JSON.parse(line.toString()) as { type: string }).type) seen++
  }
  if (start < chunk.length) rest.push(chunk.subarray(start))
  if (seen >= count) break
}
const { user, system } = process.cpuUsage(startedCpu)
console.log(JSON.stringify({ seconds: (performance.now() - startedMs) / 1_000, cpu: (user + system) / 1e6 }))
process.exit(0)
