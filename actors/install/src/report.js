import { spawn } from "node:child_process"

// Reports one event and returns the text that the model is to be told. It never fails.
const report = (event, input) =>
  new Promise((resolve) => {
    let said = ""
    const done = () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(said).hookSpecificOutput.additionalContext || "")
      } catch {
        resolve("")
      }
    }
    const timer = setTimeout(done, LIMIT_MS)
    try {
      const child = spawn(COMMAND[0], [...COMMAND.slice(1), event], {
        env: { ...process.env, ...VARIABLES },
        stdio: ["pipe", "pipe", "ignore"],
      })
      child.on("error", done)
      child.on("close", done)
      child.stdin.on("error", () => {})
      child.stdout.on("data", (piece) => (said += piece))
      child.stdin.end(JSON.stringify({ ...input, hook_event_name: event }))
    } catch {
      done()
    }
  })

