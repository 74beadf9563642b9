#!/usr/bin/env node
// Runs the program of this platform's package with the same arguments, streams and signals.
"use strict";
const { spawn } = require("node:child_process");

const platform = `baton-memory-${process.platform}-${process.arch}`;
const file = "@PROGRAM@" + (process.platform === "win32" ? ".exe" : "");
let program;
try {
  program = require.resolve(`${platform}/bin/${file}`);
} catch {
  console.error(
    `error: the package ${platform} is not installed: either there is none for this system, or npm was told to leave out ` +
      "optional dependencies; install again without --omit=optional",
  );
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: cannot run ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  // Ends by the same signal, as a shell expects.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
