<#
.SYNOPSIS
Makes greeksd a service that starts with Windows, or takes it away. For an administrator.

.DESCRIPTION
The program goes to C:\Program Files\greeksd. The service runs as an account of its own (NT SERVICE\greeksd) that may write to
C:\ProgramData\greeksd alone: greeksd.toml has its options, greeksd.log its log, state what survives a restart. The service is
started again when it fails. It runs the build that this processor can run: after a change of processor run the script again.

    Start-Service greeksd    Stop-Service greeksd    Restart-Service greeksd (after a change of greeksd.toml)

.PARAMETER Uninstall
Takes the service and the program away. C:\ProgramData\greeksd stays.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File service.ps1
#>
[CmdletBinding()]
param([switch] $Uninstall)
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2

$name = 'greeksd'
$program = Join-Path $env:ProgramFiles 'greeksd'
$data = Join-Path $env:ProgramData 'greeksd'

function Invoke-Checked([string] $Tool) {
    & $Tool @args | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "$Tool $($args -join ' '): exit code $LASTEXITCODE" }
}

function Remove-Service {
    if (-not (Get-Service -Name $name -ErrorAction SilentlyContinue)) { return }
    Stop-Service -Name $name -ErrorAction SilentlyContinue
    (Get-Service -Name $name).WaitForStatus('Stopped', '00:00:30')
    Invoke-Checked sc.exe delete $name
}

$identity = [Security.Principal.WindowsPrincipal] [Security.Principal.WindowsIdentity]::GetCurrent()
if (-not $identity.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
    throw 'services are for administrators: start PowerShell with "Run as administrator"'
}
Remove-Service
if ($Uninstall) {
    if (Test-Path -LiteralPath (Join-Path $program 'bin\greeksd.exe')) { Remove-Item -LiteralPath $program -Recurse -Force }
    Write-Output "The service is removed. Its options, log and state stay in $data"
    return
}
$source = Join-Path $PSScriptRoot 'bin\greeksd.exe'
if (-not (Test-Path -LiteralPath $source)) {
    throw "bin\greeksd.exe is not beside this script: unpack the whole archive and run the script there"
}
# Program Files: what a service runs must be an administrator's to change
if ($PSScriptRoot.TrimEnd('\') -ne $program) {
    if (Test-Path -LiteralPath $program) { Remove-Item -LiteralPath $program -Recurse -Force }
    New-Item -ItemType Directory -Path $program -Force | Out-Null
    Copy-Item -Path (Join-Path $PSScriptRoot '*') -Destination $program -Recurse -Force
    Get-ChildItem -LiteralPath $program -Recurse -File | Unblock-File
}
# the service manager talks to the process that it starts: the build itself, not the launcher
$version = & (Join-Path $program 'bin\greeksd.exe') --version --verbose
if ($LASTEXITCODE -ne 0) { throw "the program does not start: exit code $LASTEXITCODE" }
$level = @($version | Where-Object { $_ -like 'processor level: *' })[0] -replace '^processor level: ', ''
$build = Join-Path $program "lib\greeksd\greeksd-$level.exe"
if (-not (Test-Path -LiteralPath $build)) { throw "no build for $level in $program" }

New-Item -ItemType Directory -Path $data -Force | Out-Null
$config = Join-Path $data 'greeksd.toml'
if (-not (Test-Path -LiteralPath $config)) {
    @(
        '# Options of the service; greeksd --help lists all. After a change: Restart-Service greeksd'
        ''
        '# the simulated market'
        'feed = "sim"'
        ''
        '# recorded chains of a folder that NT SERVICE\greeksd may read'
        "# feed = 'dir:C:\market'"
        "# Cboe's delayed quotes"
        '# feed = "cboe:SPY,QQQ,_SPX"'
    ) | Set-Content -LiteralPath $config -Encoding ASCII
}
$command = "`"$build`" serve --service --config `"$config`" --state-dir `"$data\state`" --log-file `"$data\greeksd.log`""
New-Service -Name $name -DisplayName 'greeksd' -StartupType Automatic -BinaryPathName $command `
    -Description 'Option Greeks over HTTP on this machine' | Out-Null
try {
    Invoke-Checked sc.exe config $name obj= 'NT SERVICE\greeksd'
    # again after 2 s, 10 s, then every minute; an end with an exit code counts as a failure too
    Invoke-Checked sc.exe failure $name reset= 86400 actions= 'restart/2000/restart/10000/restart/60000'
    Invoke-Checked sc.exe failureflag $name 1
    # administrators and the system, and the service; nobody else reads keys, log or state
    Invoke-Checked icacls.exe $data /inheritance:r /grant '*S-1-5-32-544:(OI)(CI)F' '*S-1-5-18:(OI)(CI)F' 'NT SERVICE\greeksd:(OI)(CI)M'
    Start-Service -Name $name
} catch {
    Remove-Service
    throw
}
Write-Output "The service runs $build; http://127.0.0.1:2112 unless $config says otherwise. Log: $data\greeksd.log"
